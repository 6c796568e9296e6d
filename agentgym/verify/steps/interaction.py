"""Interaction: which steps used the screen, and which a tool beside it.

For environments with a screen, or with a screen and tools in one action space (`surfaces =
["desktop", "shell"]`). The grader judges no step; the last one states the measures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from agentgym.browser.tools import TOOLS as BROWSER_TOOLS
from agentgym.desktop.tools import TOOLS as DESKTOP_TOOLS
from agentgym.plugins import no_argument
from agentgym.records import CheckStatus, Effect, Step, StepGrade, Trajectory
from agentgym.verify.steps.registry import GROUP

_SCREEN = frozenset(tool.name for tool in (*BROWSER_TOOLS, *DESKTOP_TOOLS))
_LOOKS = frozenset(("screenshot", "zoom", "wait", "read_clipboard"))
_ENDS = frozenset(("submit", "give_up"))


class InteractionGrader:
    """Labels each step ``screen``, ``look``, ``tool`` or ``end``; the last states the measures.

    - ``screen``: a verb of mouse and keyboard, or of the browser.
    - ``look``: a step that only looks at the screen or waits.
    - ``tool``: any other tool, such as ``bash`` or one of a service.
    - ``end``: ``submit`` or ``give_up``.
    """

    name = "interaction"
    version = "1"

    def __init__(self, argument: str = "") -> None:
        no_argument(GROUP, self.name, argument)

    async def grade(self, trajectory: Trajectory) -> Sequence[StepGrade]:
        """Label the steps; no grades if no step used a screen."""
        labels = [_label(step) for step in trajectory.steps]
        if not {"screen", "look"} & set(labels):
            return []
        grades = [
            StepGrade(index, CheckStatus.NOT_APPLICABLE, label)
            for index, label in enumerate(labels)
        ]
        found = measures(labels, trajectory.steps)
        told = ", ".join(f"{labels.count(label)} {label}" for label in ("screen", "look", "tool"))
        last = len(labels) - 1
        grades[-1] = StepGrade(
            last, CheckStatus.NOT_APPLICABLE, labels[-1], told, None, None, found
        )
        return grades


def measures(labels: Sequence[str], steps: Sequence[Step]) -> Mapping[str, float | None]:
    """Return the measures of an episode.

    ``screen_share`` is the share of the screen among the steps that act, ``switches`` counts the
    changes between screen and tools, and ``without_effect`` is the share of the screen's steps that
    changed nothing or failed.
    """
    acting = [label for label in labels if label in ("screen", "tool")]
    effects = [
        step.observation.effect
        for label, step in zip(labels, steps, strict=True)
        if label == "screen"
    ]
    idle = sum(effect is not Effect.CHANGED for effect in effects)
    return {
        "screen_steps": float(len(effects)),
        "look_steps": float(labels.count("look")),
        "tool_steps": float(labels.count("tool")),
        "screen_share": len(effects) / len(acting) if acting else None,
        "switches": float(sum(a != b for a, b in pairwise(acting))),
        "without_effect": idle / len(effects) if effects else None,
    }


def _label(step: Step) -> str:
    tool = step.action.tool
    if tool in _ENDS:
        return "end"
    if tool in _LOOKS:
        return "look"
    return "screen" if tool in _SCREEN else "tool"
