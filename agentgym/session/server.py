"""The sessions of all callers of a server: opened, found again by their tokens, and ended."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterator
from typing import Final, Self

from agentgym.errors import AgentError
from agentgym.session.accounts import Account
from agentgym.session.answers import Failure, FailureCode
from agentgym.session.config import SessionConfig
from agentgym.session.kept_answers import KeptAnswers
from agentgym.session.plans import EpisodePlans
from agentgym.session.session import Session
from agentgym.session.step_writer import StepWriter

KEPT_SESSIONS: Final = 1_000
"""Number of sessions that are over and can still be found; older ones are forgotten."""

KEPT_BYTES: Final = 256 * 2**20
"""Size of the answers that all sessions that are over may keep; the oldest are forgotten."""

_NAME_CHARACTERS: Final = 40


class SessionServer:
    """The sessions of a server, for the adapters of one or several protocols.

    As a context manager it stops at the exit.

    Args:
        config: The terms of every session.

    Attributes:
        config: The terms of every session.
    """

    def __init__(self, config: SessionConfig) -> None:
        self.config = config
        self._sessions: dict[str, Session] = {}
        self._plans = EpisodePlans(config.store)
        self._writer = StepWriter(config.store, config.record_after_s)
        self._kept = KeptAnswers()
        self._stopped = False

    @property
    def live(self) -> int:
        """Number of live episodes of all sessions."""
        return sum(session.live for session in self._sessions.values())

    @property
    def open_sessions(self) -> int:
        """Number of sessions that are not over."""
        return sum(not session.over for session in self._sessions.values())

    @property
    def is_stopped(self) -> bool:
        """Whether it ends, and begins no more sessions."""
        return self._stopped

    def open(
        self, protocol: str, name: str = "", account: Account | None = None
    ) -> Session | Failure:
        """Begin a session.

        Args:
            protocol: Protocol of the caller, such as ``"mcp"``.
            name: Name that the caller gives itself; its episodes are recorded as
                ``protocol:name``.
            account: The account that it belongs to, whose quota bounds it; None if the protocol
                has no accounts.
        """
        if self._stopped:
            return Failure(FailureCode.SESSION_OVER, "the server was stopped")
        self._forget_old()
        bound, count = self.config.max_sessions, self.open_sessions
        if count >= bound:
            told = f"{count} sessions are open; expected fewer than {bound}: come back later"
            return Failure(FailureCode.TOO_MANY, told)
        if told := self._no_session_for(account) or self._no_room(account):
            return Failure(FailureCode.TOO_MANY, told)
        caller = f"{protocol}:{_printable(name)}"
        may_begin = functools.partial(self._no_room, account)
        shared = (self.config, caller, self._plans, self._writer)
        session = Session(*shared, may_begin, account, self._kept)
        self._kept.enter(session.calls, account)
        self._sessions[session.token] = session
        return session

    def find(self, token: object, account: Account | None = None) -> Session | Failure:
        """Return the session of a caller that comes back.

        Args:
            token: Token of the session.
            account: The caller's account; another one's session is not found.
        """
        session = self._sessions.get(token) if isinstance(token, str) else None
        if session is None or session.account is not account:
            told = "no session has this token; it is wrong, or the session was over long ago"
            return Failure(FailureCode.UNKNOWN_SESSION, told)
        return session

    def forget(self, session: Session) -> None:
        """Drop a session that is over, with the answers it keeps; it cannot be found any more."""
        if session.over:
            self._sessions.pop(session.token, None)
            self._kept.leave(session.calls)

    async def end_all(self, why: Exception) -> None:
        """End every session; see `Session.end`."""
        await asyncio.gather(*(session.end(why) for session in self._sessions.values()))

    async def cut_short(self, why: Exception) -> None:
        """End what every session does; see `Session.cut_short`."""
        await asyncio.gather(*(session.cut_short(why) for session in self._sessions.values()))

    async def stop(self) -> None:
        """End every session because the server ends: live episodes have no score. Never raises."""
        self._stopped = True
        await self.end_all(AgentError("the server was stopped"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *failure: object) -> None:
        await self.stop()

    def _forget_old(self) -> None:
        """Drop sessions that are over, the oldest first, until few enough are kept."""
        over = [session for session in self._sessions.values() if session.over]
        kept_bytes = sum(session.kept_bytes for session in over)
        for place, session in enumerate(over):
            if len(over) - place <= KEPT_SESSIONS and kept_bytes <= KEPT_BYTES:
                break
            kept_bytes -= session.kept_bytes
            self.forget(session)

    def _no_room(self, account: Account | None) -> str:
        """Return why an account can begin no episode, empty if it can."""
        hint = "end one, or come back later"
        bound, live = self.config.max_live, self.live
        if live >= bound:
            return f"{live} episodes are being played; expected fewer than {bound}: {hint}"
        if account is None or (own := account.quota.episodes) is None:
            return ""
        live = sum(session.live for session in self._of(account))
        if live < own:
            return ""
        told = f"account {account.name!r} plays {live} episodes"
        return f"{told}; expected fewer than its quota of {own}: {hint}"

    def _no_session_for(self, account: Account | None) -> str:
        if account is None or (bound := account.quota.sessions) is None:
            return ""
        count = sum(not session.over for session in self._of(account))
        if count < bound:
            return ""
        told = f"account {account.name!r} has {count} sessions"
        return f"{told}; expected fewer than its quota of {bound}: end one, or come back later"

    def _of(self, account: Account) -> Iterator[Session]:
        return (each for each in self._sessions.values() if each.account is account)


def _printable(name: str) -> str:
    """Return the name of a caller for the record; it may hold anything."""
    kept = "".join(c if c.isalnum() or c in "-_. " else "_" for c in name[:_NAME_CHARACTERS])
    return kept.strip() or "client"
