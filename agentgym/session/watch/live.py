"""The present state of a watched episode, and who acts in it.

Pages ask for the events after those that they know. A person who has taken over and whose pages
are gone loses control again; otherwise the episode would wait until its time is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from agentgym.errors import ActionError
from agentgym.record.codec import dumps, png_from_image
from agentgym.records import Action, Json, Observation, Step, ToolSpec, Verdict
from agentgym.surfaces.calls import check_call
from agentgym.threads import to_thread

PERSON: Final = "A person acts."
"""Thought of the decisions that a person took."""

ABSENT_S: Final = 30.0
"""Seconds in which no page asks for events, after which a person has no control any more."""

_TICK_S: Final = 1.0
_MOST_TEXT: Final = 8_000
_MOST_FRAMES: Final = 40


class Live:
    """The events that pages show, and the requests of pages to the episode.

    Args:
        clock: Monotonic clock, in seconds.

    Attributes:
        events: All events so far.
        person_acts: Whether a person has control.
        has_agent: Whether there is an agent that can act if no person does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.events: list[dict[str, Json]] = []
        self.person_acts, self.has_agent = False, True
        self._clock = clock
        self._seen_s = clock()
        self._frames: OrderedDict[int, bytes] = OrderedDict()
        self._tools: Sequence[ToolSpec] = ()
        self._news, self._asked = asyncio.Event(), asyncio.Event()
        self._action: Action | None = None
        self._is_waiting = False

    # --- what happens in the episode ---

    def begin(self, task: Mapping[str, Json]) -> None:
        """Show the task of an episode that begins."""
        self._tell("task", **task)
        self._tell("control", person=self.person_acts, agent=self.has_agent)

    def offer(self, tools: Sequence[ToolSpec]) -> None:
        """Show the tools, if they are not those that are shown."""
        if [tool.name for tool in tools] != [tool.name for tool in self._tools]:
            self._tools = tuple(tools)
            # The schemas of a server may have megabytes; the page needs none.
            named: list[Json] = [{"name": tool.name} for tool in tools]
            self._tell("tools", tools=named)

    async def show(self, observation: Observation) -> None:
        """Show what an agent sees."""
        frame: int | None = None
        if observation.image is not None:
            frame = len(self.events)
            self._frames[frame] = await to_thread(png_from_image, observation.image)
            while len(self._frames) > _MOST_FRAMES:
                self._frames.popitem(last=False)
        self._tell("view", frame=frame, text=observation.text[:_MOST_TEXT])

    def step(self, number: int, step: Step) -> None:
        """Show a step that was taken."""
        self._tell(
            "step",
            number=number,
            tool=step.action.tool,
            arguments=dumps(dict(step.action.arguments))[:_MOST_TEXT],
            by="person" if step.decision.thought == PERSON else "agent",
            effect=step.observation.effect.value,
        )

    def end(self, verdict: Verdict, error: str) -> None:
        """Show how an episode ended."""
        self._tell("end", passed=verdict.outcome, score=verdict.score, error=error[:_MOST_TEXT])

    def _tell(self, kind: str, **told: Json) -> None:
        self.events.append({"kind": kind, **told})
        self._news.set()
        self._news = asyncio.Event()

    # --- what pages ask ---

    async def after(self, known: int, within_s: float) -> list[dict[str, Json]]:
        """Return the events after the first `known` ones; wait for one a while."""
        self._seen_s = self._clock()
        if known >= len(self.events):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(within_s):
                    await self._news.wait()
        self._seen_s = self._clock()
        return self.events[known:]

    def frame(self, number: int) -> bytes | None:
        """Return a picture as the bytes of a PNG file; None if it is not kept."""
        return self._frames.get(number)

    def take_over(self, *, person: bool) -> None:
        """Give control to a person, or back to the agent.

        Raises:
            ActionError: There is no agent.
        """
        if not person and not self.has_agent:
            raise ActionError("there is no agent that could go on")
        if self.person_acts is not person:
            self.person_acts = person
            self._tell("control", person=person, agent=self.has_agent)
            self._asked.set()

    def act(self, action: Action) -> None:
        """Take an action of a person.

        Raises:
            ActionError: The person has no control, the last action is not done, or the call is
                not one of the tools'.
        """
        if not self.person_acts:
            raise ActionError("the agent has control; take over first")
        if not self._is_waiting or self._action is not None:
            raise ActionError("the last action is not done yet")
        check_call(action, self._tools)
        self._action = action
        self._asked.set()

    # --- what the agent asks ---

    async def changed(self) -> None:
        """Wait until a page asks for something."""
        await self._asked.wait()
        self._asked.clear()

    async def next_action(self) -> Action | None:
        """Return the next action of the person; None once the agent has control again."""
        self._is_waiting = True
        try:
            while self.person_acts:
                if self._action is not None:
                    action, self._action = self._action, None
                    return action
                if self.has_agent and self._clock() - self._seen_s > ABSENT_S:
                    self.take_over(person=False)
                    break
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_S):
                        await self.changed()
            return None
        finally:
            self._is_waiting, self._action = False, None


def action_of(told: Any) -> Action:
    """Return the action of a page's message.

    Raises:
        ActionError: The message has another form.
    """
    if not isinstance(told, dict) or set(told) != {"tool", "arguments"}:
        raise ActionError("expected an object with tool and arguments")
    return Action.from_json(told)
