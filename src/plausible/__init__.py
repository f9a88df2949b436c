"""Bayesian learning: classify text and tables, reason with belief networks, find hidden classes."""

__version__ = "0.1.0"
