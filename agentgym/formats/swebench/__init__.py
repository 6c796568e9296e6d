"""Instances of SWE-bench and its relatives as tasks: their folders, episodes and import."""
