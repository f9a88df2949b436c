"""Learning: from data to models."""
