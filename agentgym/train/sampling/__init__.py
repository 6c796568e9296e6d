"""Sampling completions for many episodes at a time."""
