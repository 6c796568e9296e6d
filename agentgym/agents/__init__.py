"""Policies: the built-in agents and the door through which any other comes in."""

from __future__ import annotations

from typing import Final

from agentgym.records import Action

SUBMIT: Final = Action("submit")
"""The action by which every built-in agent says that it is done."""
