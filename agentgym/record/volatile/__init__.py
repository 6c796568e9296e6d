"""Volatile text: what a program's output shows of clocks, process ids, inodes, temporary names."""
