"""agentgym: real computers for LLM agents, and verdicts that can be trusted."""

from __future__ import annotations

__version__ = "0.1.0"
