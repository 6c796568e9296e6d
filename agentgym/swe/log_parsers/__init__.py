"""Parsers of test logs by name: the output of a test runner becomes test ids with outcomes.

They serve test runners that write no JUnit XML, and the ids that data sets took from such logs.
"""
