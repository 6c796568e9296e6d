"""Sandboxes: isolated computers made of overlay layers and a guest supervisor."""
