"""agentgym: real computers for LLM agents, and verdicts that can be trusted.

The names below are the public ones, for users and for catalogues alike. Importing registers the
tasks on the search path with Gymnasium, once that is imported, and does nothing else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentgym.env.gymnasium_ids import register_with_gymnasium
from agentgym.errors import AgentGymError, GuestFileError, VerifierError
from agentgym.protocols import Agent, Evidence, FileTree, Room, Sandbox, SandboxProvider, Surface
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

if TYPE_CHECKING:
    from agentgym.env.environment import Environment
    from agentgym.env.registration import make
    from agentgym.env.wrappers import ByteText, DiscreteCalls
    from agentgym.eval.evaluation import evaluate

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
    "Evidence",
    "ExecResult",
    "FileTree",
    "GuestFileError",
    "Observation",
    "Room",
    "Sandbox",
    "SandboxProvider",
    "Step",
    "Surface",
    "ToolSpec",
    "Verdict",
    "VerifierError",
    "evaluate",
    "make",
]

_LAZY = {
    "ByteText": "agentgym.env.wrappers",
    "DiscreteCalls": "agentgym.env.wrappers",
    "Environment": "agentgym.env.environment",
    "evaluate": "agentgym.eval.evaluation",
    "make": "agentgym.env.registration",
}


def __getattr__(name: str) -> Any:
    """Import the names that bring much with them when they are first asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'agentgym' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


register_with_gymnasium()
