"""The public interface of a repository in Python, read without running anything.

`agentgym.swe.interface.comparison.changed_interface` compares two states of a repository.
"""
