"""Environments: the asynchronous core, and the Gymnasium environments in front of it."""
