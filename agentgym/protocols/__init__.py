"""Every extension point of agentgym, as structural protocols; no inheritance is required.

The engine is asynchronous; only code that task authors write (checks, and the file trees they
read) is synchronous. Each protocol has a contract suite in `agentgym.testing` that can test any
implementation.
"""

from agentgym.protocols.agents import Agent, AgentFactory
from agentgym.protocols.recording import EpisodeRecorder
from agentgym.protocols.sandboxes import (
    READ_BYTES,
    FileTree,
    ImagePlacer,
    Sandbox,
    SandboxProvider,
    Shell,
    StateKeeper,
    state_keeper,
)
from agentgym.protocols.surfaces import (
    AnchoredSurface,
    ASGIApplication,
    ASGIMessage,
    AuditedSurface,
    FinishingSurface,
    Picture,
    Services,
    Sites,
    Surface,
    SurfaceContext,
    SurfaceFactory,
    SurfaceKind,
)
from agentgym.protocols.task_formats import (
    EpisodeContext,
    EpisodeRules,
    ForeignTask,
    ImageBuilder,
    TaskFormat,
    TaskRules,
)
from agentgym.protocols.users import ForkableUser, User, UserWorld
from agentgym.protocols.verification import (
    Check,
    Evidence,
    Judge,
    PatchScorer,
    PatchScorerFactory,
    Room,
    StepGrader,
    StepGraderFactory,
    Tables,
)

__all__ = [
    "READ_BYTES",
    "ASGIApplication",
    "ASGIMessage",
    "Agent",
    "AgentFactory",
    "AnchoredSurface",
    "AuditedSurface",
    "Check",
    "EpisodeContext",
    "EpisodeRecorder",
    "EpisodeRules",
    "Evidence",
    "FileTree",
    "FinishingSurface",
    "ForeignTask",
    "ForkableUser",
    "ImageBuilder",
    "ImagePlacer",
    "Judge",
    "Picture",
    "Room",
    "Sandbox",
    "SandboxProvider",
    "Services",
    "Shell",
    "StateKeeper",
    "Sites",
    "PatchScorer",
    "PatchScorerFactory",
    "StepGrader",
    "StepGraderFactory",
    "Surface",
    "SurfaceContext",
    "SurfaceFactory",
    "SurfaceKind",
    "Tables",
    "TaskFormat",
    "TaskRules",
    "User",
    "UserWorld",
    "state_keeper",
]
