"""Scorers of patches that execute nothing, for best-of-n among attempts at one issue."""
