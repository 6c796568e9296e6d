"""Reinforcement learning on episodes: advantages, losses, control of off-policy data.

Everything here needs PyTorch: ``pip install agentgym-suite[train]``. Each method names its paper
and its formula; docs/learning.md explains how they fit together.
"""
