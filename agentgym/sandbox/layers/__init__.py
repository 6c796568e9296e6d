"""Overlay layers: reading, comparing, merging, measuring, packing and removing them."""
