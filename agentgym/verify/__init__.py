"""Verification: rubrics, check packs, evidence, clean rooms and the verdict they end in.

Check packs may use `path_matches` beside the public names of `agentgym`.
"""

from __future__ import annotations

from agentgym.task.state import path_matches

__all__ = ["path_matches"]
