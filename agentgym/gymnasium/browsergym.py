"""An environment in the form of BrowserGym, so that an agent written for it runs unchanged.

Observations and actions are those of browsergym-core 0.14 (browsergym/core/env.py). The package is
not needed here; an agent may use its flatteners and its action sets.
"""

from __future__ import annotations

import time
from typing import Any, Final, SupportsFloat, cast

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Sequence, Space
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from agentgym.browser.codecs.browsergym import VIEWPORT, calls_in, decode
from agentgym.browser.codecs.browsergym_views import axtree_of, properties_of
from agentgym.browser.dom import dom_snapshot
from agentgym.env.control import SUBMIT
from agentgym.env.episode import Episode
from agentgym.env.portal import portal
from agentgym.errors import ActionError, ConfigError
from agentgym.gymnasium.env import GymEnv
from agentgym.gymnasium.spaces import JsonSpace, PictureSpace, TextSpace
from agentgym.records import Action
from agentgym.records.bounds import malformed
from agentgym.surfaces.browser import BrowserKind, BrowserSurface
from agentgym.surfaces.calls import check_call

_TEXT_BYTES: Final = 2**24
_DIALOGS: Final = 20
_GREETING: Final = "Hi! I am your UI assistant. What can I help you with?"
_DISMISS: Final = {"tool": "dialog", "arguments": {"accept": False}}

Seen = dict[str, Any]


class BrowserGym(gymnasium.Wrapper[Seen, str, Seen, dict[str, Any]], RecordConstructorArgs):
    """Shows pages and takes actions as BrowserGym does.

    An action is text with calls such as ``click('12')``; several are executed in order until one
    fails. A ``bid`` is a reference of the surface ``browser``. An observation has BrowserGym's
    fields: ``goal``, ``goal_object``, ``chat_messages``, ``axtree_object``, ``dom_object``,
    ``extra_element_properties``, ``screenshot``, ``url``, ``open_pages_urls``,
    ``open_pages_titles``, ``active_page_index``, ``focused_element_bid``, ``last_action``,
    ``last_action_error`` and ``elapsed_time``. Dialogs are dismissed, as Playwright does it.

    Args:
        env: An environment of `agentgym.make` whose agents have the surface ``browser``.

    Raises:
        ConfigError: It is another one.
    """

    def __init__(self, env: gymnasium.Env[Seen, dict[str, Any]]) -> None:
        RecordConstructorArgs.__init__(self)
        super().__init__(cast("gymnasium.Env[Any, Any]", env))
        self._calls = env
        inner = env.unwrapped
        if not isinstance(inner, GymEnv):
            raise ConfigError("BrowserGym: expected an environment of agentgym.make on this host")
        kinds = inner.environment.surface_kinds
        places = [at for at, kind in enumerate(kinds) if isinstance(kind, BrowserKind)]
        if not places:
            raise ConfigError("BrowserGym: the environment has no surface 'browser'")
        self._inner, self._place = inner, places[0]
        limits = inner.environment.observation_limits
        self.observation_space = _space(limits.image_width, limits.image_height)
        self.action_space = TextSpace(_TEXT_BYTES)
        self._chat: list[dict[str, Any]] = []
        self._seen: Seen = {}
        self._nodes: list[dict[str, Any]] = []
        self._size = VIEWPORT
        self._began = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode; see `GymEnv.reset`. The info has ``task_info``, too."""
        _, info = self.env.reset(seed=seed, options=options)
        self._began, self._chat = time.time(), []
        goal = self._episode.assignment.strip()
        self._say("assistant", _GREETING)
        self._say("user", goal)
        self._seen = {"goal": goal, "goal_object": ({"type": "text", "text": goal},)}
        return self._observed("", ""), {**info, "task_info": {}}

    def step(self, action: str) -> tuple[Seen, SupportsFloat, bool, bool, dict[str, Any]]:
        """Execute the calls of a text. What the agent has done wrong is ``last_action_error``.

        Raises:
            gymnasium.error.ResetNeeded: No episode is running.
            VerifierError: The task's own checks are broken.
        """
        began = time.time()
        error, reward, terminated, truncated, info = "", 0.0, False, False, dict[str, Any]()
        try:
            calls = [call.to_json() for call in self._decoded(action)]
        except ActionError as refusal:
            # It costs a step, as any call that is not legal does, and is never read as a call.
            error = _fitting(f"{type(refusal).__name__}: {refusal}")
            calls = [malformed(refusal).to_json()]
        waiting = list[dict[str, Any]](calls)
        dismissed = 0
        while waiting and not (terminated or truncated):
            call = waiting.pop(0)
            seen, given, terminated, truncated, info = self._calls.step(call)
            reward = float(given)
            if terminated and call["tool"] in ("submit", "give_up"):
                told = call["arguments"].get("answer", call["arguments"].get("reason", ""))
                self._say("assistant" if call["tool"] == "submit" else "infeasible", str(told))
            if info["effect"] == "error":
                error = error or str(seen["data"].get("error") or seen["text"])
                waiting.clear()
            if seen["data"].get("dialog") and dismissed < _DIALOGS:
                waiting.insert(0, _DISMISS)
                dismissed += 1
        acted = time.time()
        over = terminated or truncated
        observation = self._last(action, error) if over else self._observed(action, error)
        return observation, reward, terminated, truncated, {**info, **_times(began, acted)}

    def _decoded(self, action: str) -> list[Action]:
        if not isinstance(action, str):
            raise ActionError(f"expected a text such as click('12'), got {type(action).__name__}")
        calls = decode(calls_in(action) or action, self._nodes, self._size)
        if self._inner.environment.answer == "none":
            # BrowserGym ends an episode with a text, and this task takes none.
            calls = [Action(SUBMIT.name) if one.tool == SUBMIT.name else one for one in calls]
        for call in calls:
            check_call(call, self._inner.environment.tools)
        return calls

    @property
    def _episode(self) -> Episode:
        assert self._inner.episode is not None, "it was reset"
        return self._inner.episode

    def _say(self, role: str, message: str) -> None:
        said = {"role": role, "timestamp": time.time(), "message": message}
        self._chat.append(said)

    def _observed(self, action: str, error: str) -> Seen:
        """Return what the browser shows now, in BrowserGym's form."""
        surface = self._episode.surfaces[self._place]
        assert isinstance(surface, BrowserSurface)
        state, picture, documents = portal().run(surface.inspect())
        view, tabs = state.view, [tab for tab in state.tabs if isinstance(tab, dict)]
        self._size = view.size if all(view.size) else self._size
        self._nodes = [dict(node, checked="checked" in node.get("f", ())) for node in view.nodes]
        if picture is None:
            picture = self._seen.get("screenshot", np.zeros((1, 1, 3), np.uint8))
        current = [number for number, tab in enumerate(tabs) if tab["current"]]
        self._seen |= {
            "open_pages_urls": tuple(str(tab["url"]) for tab in tabs),
            "open_pages_titles": tuple(str(tab["title"]) for tab in tabs),
            "active_page_index": np.asarray(current[:1] or [0]),
            "url": view.url,
            "screenshot": picture,
            "dom_object": dom_snapshot(documents),
            "axtree_object": axtree_of(view),
            "extra_element_properties": properties_of(view.nodes),
            "focused_element_bid": "" if view.focused is None else str(view.focused),
        }
        return self._last(action, error)

    def _last(self, action: str, error: str) -> Seen:
        """Return the page that was seen last, with what was done since."""
        self._seen |= {
            "chat_messages": tuple(dict(said) for said in self._chat),
            "last_action": _fitting(action),
            "last_action_error": error,
            "elapsed_time": np.asarray([time.time() - self._began]),
        }
        return dict(self._seen)


def _fitting(action: object) -> str:
    """Return a text as an element of `_space`; another object, as its type is called."""
    if not isinstance(action, str):
        return f"({type(action).__name__})"
    return action[: _TEXT_BYTES // 4].encode("utf-8", "replace").decode()


def _times(began: float, acted: float) -> dict[str, Any]:
    """Return the fields of BrowserGym's infos; settling is a part of the action here."""
    times = {"action_exec_start": began, "action_exec_stop": acted, "action_exec_timeout": 0.0}
    for part in ("wait_for_page_loading", "validation"):
        times |= {f"{part}_start": acted, f"{part}_stop": acted}
    observed = {"get_observation_start": acted, "get_observation_stop": time.time()}
    return {**times, **observed, "task_info": {}}


def _space(width: int, height: int) -> Dict:
    text, json = TextSpace(_TEXT_BYTES), JsonSpace(_TEXT_BYTES)
    picture: Space[NDArray[np.uint8]] = PictureSpace(max(1, width), max(1, height))
    message = Dict({"role": text, "timestamp": _number(), "message": text})
    return Dict(
        {
            "chat_messages": Sequence(message),
            "goal": text,
            "goal_object": Sequence(json),
            "open_pages_urls": Sequence(text),
            "open_pages_titles": Sequence(text),
            "active_page_index": Box(0, 255, (1,), np.int64),
            "url": text,
            "screenshot": picture,
            "dom_object": json,
            "axtree_object": json,
            "extra_element_properties": json,
            "focused_element_bid": text,
            "last_action": text,
            "last_action_error": text,
            "elapsed_time": Box(0, np.inf, (1,), np.float64),
        }
    )


def _number() -> JsonSpace:
    return JsonSpace(64)
