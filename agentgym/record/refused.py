"""Tokens of the replies that ended an episode: refused, so no step accounts for them.

One row for each episode that has any, in a table that runs of older versions do not have: they get
it from the first writer.
"""

from __future__ import annotations

from agentgym.record import codec
from agentgym.record.database import Database
from agentgym.records import TokenUsage

_COLUMNS = ("prompt_tokens", "completion_tokens", "cached_tokens")


def note_refused(database: Database, episode_id: int, usage: TokenUsage) -> None:
    """Note what an episode's last replies cost, in place of what is noted; zero leaves no row."""
    database.execute("DELETE FROM refused_replies WHERE episode = ?", (episode_id,))
    if usage != TokenUsage():
        counts = (usage.prompt, usage.completion, usage.cached)
        database.execute("INSERT INTO refused_replies VALUES (?, ?, ?, ?)", (episode_id, *counts))


def refused_usage(database: Database, episode_id: int) -> TokenUsage:
    """Return what an episode's last replies cost.

    Raises:
        ValueError: It is damaged.
    """
    if not database.rows("SELECT 1 FROM sqlite_master WHERE name = 'refused_replies'"):
        return TokenUsage()
    query = f"SELECT {', '.join(_COLUMNS)} FROM refused_replies WHERE episode = ?"
    for row in database.rows(query, (episode_id,)):
        return TokenUsage(*(codec.expect(row[name], name, int) for name in _COLUMNS))
    return TokenUsage()
