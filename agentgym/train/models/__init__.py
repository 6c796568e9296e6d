"""Causal language models that train on packed rows and sample from cached ones."""
