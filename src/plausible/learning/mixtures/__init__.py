"""Mixtures: stars whose centre is hidden, learned by EM."""
