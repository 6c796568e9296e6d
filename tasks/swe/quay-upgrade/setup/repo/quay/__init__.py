"""The berths of a small harbour."""
