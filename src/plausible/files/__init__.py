"""Files of models and of networks: what they hold, and writing them whole or not at all."""
