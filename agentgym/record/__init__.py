"""Runs on disk: one folder, one SQLite database, content-addressed blobs."""
