"""agentgym: real computers for LLM agents, and verdicts that can be trusted.

The names below are the public ones, for users and for catalogues. Importing this package registers
the tasks on the search path with Gymnasium once that is imported, and does nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentgym.gymnasium.ids import register_with_gymnasium

if TYPE_CHECKING:
    from agentgym import vector as vector
    from agentgym.env.environment import Environment
    from agentgym.env.episode import Episode
    from agentgym.env.opening import open_environment
    from agentgym.errors import AgentGymError, GuestFileError, VerifierError
    from agentgym.eval.evaluation import evaluate
    from agentgym.gymnasium.registration import make
    from agentgym.gymnasium.wrappers import ByteText, DiscreteCalls
    from agentgym.protocols import Agent, Evidence, FileTree, Room, SandboxProvider
    from agentgym.records import (
        Action,
        Briefing,
        CheckResult,
        CheckStatus,
        Decision,
        ExecResult,
        Observation,
        Step,
        ToolSpec,
        Verdict,
    )

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Agent",
    "AgentGymError",
    "Briefing",
    "ByteText",
    "CheckResult",
    "CheckStatus",
    "Decision",
    "DiscreteCalls",
    "Environment",
    "Episode",
    "Evidence",
    "ExecResult",
    "FileTree",
    "GuestFileError",
    "Observation",
    "Room",
    "SandboxProvider",
    "Step",
    "ToolSpec",
    "Verdict",
    "VerifierError",
    "evaluate",
    "make",
    "open_environment",
]

_HOMES = {
    "agentgym.env.environment": ("Environment",),
    "agentgym.env.episode": ("Episode",),
    "agentgym.env.opening": ("open_environment",),
    "agentgym.gymnasium.registration": ("make",),
    "agentgym.gymnasium.wrappers": ("ByteText", "DiscreteCalls"),
    "agentgym.errors": ("AgentGymError", "GuestFileError", "VerifierError"),
    "agentgym.eval.evaluation": ("evaluate",),
    "agentgym.protocols": ("Agent", "Evidence", "FileTree", "Room", "SandboxProvider"),
    "agentgym.records": (
        *("Action", "Briefing", "CheckResult", "CheckStatus", "Decision", "ExecResult"),
        *("Observation", "Step", "ToolSpec", "Verdict"),
    ),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import a name on first use, because most commands start faster without most of them."""
    from importlib import import_module

    if name == "vector":
        return import_module("agentgym.vector")
    if name not in _HOME:
        raise AttributeError(f"module 'agentgym' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOME[name]), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_gymnasium()
