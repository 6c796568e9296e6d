"""A rubric: its file, its tree of checkpoints, what the tree means, and the checks it names."""
