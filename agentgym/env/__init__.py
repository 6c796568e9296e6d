"""Environments: the asynchronous core, and the Gymnasium environments on top of it."""
