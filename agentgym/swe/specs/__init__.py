"""Environments of instances: tables of specs, defaults by language, and their images."""
