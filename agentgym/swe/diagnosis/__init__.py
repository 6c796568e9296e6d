"""Diagnosis of recorded episodes: what an agent searched, read and edited, and the gold patch."""
