"""Requirements of tasks: commands of the host, and the images of their recipes.

Sandboxes built on the host's ``/usr`` have the host's commands, so a missing command is found
before a sandbox starts. Package names are Debian's and Ubuntu's.
"""

from __future__ import annotations

import functools
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agentgym import catalogue, task_formats
from agentgym.env.resolved_task import build_task, image_fallbacks
from agentgym.env.spec import load_env_spec
from agentgym.errors import AgentGymError
from agentgym.sandbox.build.builder import Builds, Tell
from agentgym.sandbox.recipe import load_plan
from agentgym.task.debian_packages import install_command
from agentgym.task.load import find_task, load_folder
from agentgym.task.model import Task

GUEST_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class MissingCommand:
    """A missing command, the tasks that need it, and the package that has it."""

    command: str
    tasks: tuple[str, ...]

    @property
    def wanted_by(self) -> str:
        """The tasks that need it, as text."""
        more = len(self.tasks) - 1
        others = f" and {more} more" if more else ""
        return f"needed by {self.tasks[0]}{others}"

    @property
    def install(self) -> str:
        """Shell command that installs it."""
        return install_command([self.command])


def missing_commands(tasks: Sequence[Task]) -> list[MissingCommand]:
    """Return the commands these tasks need and the host's ``/usr`` does not have, by name.

    A task whose recipe has an image of its own finds its commands in the image.
    """
    on_host = functools.cache(_runs_on_host)
    wanted: dict[str, list[str]] = {}
    for task in tasks:
        for command in task.manifest.needs:
            if shutil.which(command, path=GUEST_PATH) is None and on_host(task.manifest.env):
                wanted.setdefault(command, []).append(task.id)
    return [MissingCommand(command, tuple(ids)) for command, ids in sorted(wanted.items())]


def _runs_on_host(env: str) -> bool:
    try:
        recipe = load_env_spec(env).sandbox
        return recipe is not None and load_plan(recipe) is None
    except AgentGymError:
        # Loading the environment later reports what is wrong with it.
        return False


def used_fallbacks(task_ids: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return what replaces an image or a version that this machine lacks, by foreign task."""
    found = {}
    for task_id in task_ids:
        # The episodes of a task that cannot be read report the error.
        with suppress(AgentGymError):
            folder = catalogue.path_of(task_id) or catalogue.find("tasks", task_id)
            # Tasks of agentgym name recipes, which are built and never replaced.
            if task_formats.find_format(folder) is None:
                continue
            if used := image_fallbacks(load_folder(folder)):
                found[task_id] = used
    return found


def fails_alone(task_id: str) -> bool:
    """Return whether the other tasks of a run are played if this one is broken.

    It is so for tasks of an imported suite and for folders that the user names. A broken task of
    agentgym's own format in a catalogue is to be mended first.
    """
    if catalogue.path_of(task_id) is not None:
        return True
    try:
        return task_formats.find_format(catalogue.find("tasks", task_id)) is not None
    except AgentGymError:
        return False


def build_images(task_ids: Iterable[str], tell: Tell) -> dict[str, str]:
    """Build the images that these tasks need and this machine lacks.

    Returns:
        Reason why a task that `fails_alone` cannot run, by task; the others still run.

    Raises:
        AgentGymError: A recipe of agentgym cannot be built or read.
    """
    tasks, failed = [], {}
    for task_id in task_ids:
        try:
            tasks.append(find_task(task_id))
        except AgentGymError as error:
            if not fails_alone(task_id):
                raise
            tell(f"{task_id} cannot run: {error}")
            failed[task_id] = str(error)
    return failed | build_images_of(tasks, tell)


def build_images_of(tasks: Iterable[Task], tell: Tell) -> dict[str, str]:
    """Build as `build_images` does, for tasks that are already loaded."""
    failed = {}
    with Builds(tell) as builds:
        for task in tasks:
            try:
                build_task(task, builds, tell)
            except AgentGymError as error:
                if task.foreign is None:
                    raise
                tell(f"{task.id} cannot run: {error}")
                failed[task.id] = str(error)
    return failed
