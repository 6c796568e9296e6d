"""Users by name: ``scripted``, ``openai:gpt-x?temperature=0``; from ``--user`` or AGENTGYM_USER.

The text before the first colon names an entry point of the group ``agentgym.users``, a factory
that is called with the rest, the `UserScript` and the `Instance`.
"""

from __future__ import annotations

import os

from agentgym import plugins
from agentgym.protocols import User
from agentgym.task.model import Instance
from agentgym.task.user import UserScript

GROUP = "agentgym.users"
VARIABLE = "AGENTGYM_USER"
SCRIPTED = "scripted"


def user_spec() -> str:
    """Return the spec in AGENTGYM_USER; that of the scripted user if it is not set."""
    return os.environ.get(VARIABLE, "").strip() or SCRIPTED


def create(spec: str, script: UserScript, instance: Instance) -> User:
    """Create the user of one episode.

    Args:
        spec: ``"<name>"`` or ``"<name>:<argument>"``.
        script: Description of the user.
        instance: The task with its parameters.

    Raises:
        NotFoundError: No user has that name.
        ConfigError: The argument is not accepted.
        PluginError: The entry point cannot be loaded or does not create a user.
    """
    methods = ("problems", "start", "reply", "close")
    user: User = plugins.make(GROUP, spec, script, instance, like=User, methods=methods)
    return user
