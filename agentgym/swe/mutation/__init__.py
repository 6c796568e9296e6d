"""Mutation of reference solutions: small wrong changes that hidden tests should notice.

The method is mutation analysis (DeMillo, Lipton and Sayward, "Hints on test data selection", 1978).
"""
