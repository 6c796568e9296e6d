"""Volatile text: the clocks, process ids, inodes and temporary names in a program's output."""
