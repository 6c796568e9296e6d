"""The refusal of an action: what an agent is told instead of its effect."""

from __future__ import annotations


class Refusal(Exception):
    """An action cannot be done; the message tells the agent why."""
