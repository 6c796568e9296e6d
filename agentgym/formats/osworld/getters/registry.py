"""The getters by their type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from agentgym.errors import TaskError
from agentgym.formats.osworld.getters import present, stored
from agentgym.formats.osworld.getters.browser import BROWSER
from agentgym.formats.osworld.getters.value import Read
from agentgym.formats.osworld.model import BROKEN, Getter
from agentgym.formats.osworld.steps import Stage

_STORED = (
    "audio_in_slide",
    "background_image_in_slide",
    "cache_file",
    "cloud_file",
    "gimp_config_file",
    "vlc_config",
    "vm_file",
)
_PRESENT = (
    "default_video_player",
    "list_directory",
    "rule",
    "vm_command_error",
    "vm_command_line",
    "vm_screen_size",
    "vm_window_size",
)

GETTERS: Final[Mapping[str, Callable[[Stage, Mapping[str, Any]], Awaitable[Read]]]] = {
    **{name: getattr(stored, name) for name in _STORED},
    **{name: getattr(present, name) for name in _PRESENT},
    **BROWSER,
}
"""The getters that can be read."""


async def read(stage: Stage, getter: Getter) -> Read:
    """Read a getter.

    Raises:
        TaskError: It is unknown or broken, or its file is not at hand.
        SandboxError: The computer broke.
    """
    if getter.type not in GETTERS:
        raise TaskError(f"OSWorld task {stage.task!r}: the getter {getter.type!r} is not supported")
    try:
        return await GETTERS[getter.type](stage, getter.fields)
    except BROKEN as error:
        raise TaskError(
            f"OSWorld task {stage.task!r}: the getter {getter.type!r} is broken: {error!r:.300}"
        ) from None
