"""Data sets for offline training, made of recorded runs (docs/datasets.md).

Nothing here needs PyTorch, except to encode calls by the template of a training configuration.
"""
