"""The services of an environment's episodes: their initial state, and the task's changes to it."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar, cast

from agentgym.errors import AgentGymError, TaskError
from agentgym.manifest import read_text, show_path
from agentgym.records import Actor
from agentgym.services.backend import Backend, ServiceSet
from agentgym.services.budget import WATCHDOG
from agentgym.services.setup_context import SetupContext, run_change
from agentgym.services.state import Snapshot
from agentgym.task.model import Instance
from agentgym.task.template import canonical
from agentgym.threads import Threads

WORLD_SEED: Final = 1
"""Seed of the services' data: the same in every task, so that task authors know the data."""

SETUP_S: Final = 630.0
"""Seconds after which a setup is left alone; before, the limits of a script (`SCRIPT_LIMITS`) end
one that executes Python."""

_KEPT: Final = 32

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ServicesStart:
    """Initial state of an instance's services.

    Attributes:
        services: The services.
        snapshot: Their state after the setup.
        gold: Data that the setup left for the checks, by name.
    """

    services: ServiceSet
    snapshot: Snapshot
    gold: Mapping[str, bytes] = field(default_factory=dict)

    def fork(self) -> Backend:
        """Return live services with this state; the caller closes them."""
        return Backend(self.services, self.snapshot)


_prepared: OrderedDict[tuple[ServiceSet, str], ServicesStart] = OrderedDict()
_left_alone: dict[str, str] = {}
"""The error of each setup that did not end, by the digest of the script."""
_preparing = threading.Lock()

STARTS: Final = Threads(1, "agentgym-starts")
"""For the start of services, which may take a second: no event loop waits for it.

One thread, because a setup runs once and the interpreter executes one thread at a time.
"""


def prepare_services(services: ServiceSet, instance: Instance) -> ServicesStart:
    """Return the initial state of an instance's services; the setup runs once per process.

    An event loop calls it on `STARTS`.

    Raises:
        TaskError: The setup is broken.
    """
    now = str(instance.task.manifest.clock.start)
    path = instance.task.services_setup
    if path is None:
        return ServicesStart(services, services.template(WORLD_SEED, now))
    script = read_text(path, TaskError)
    content = canonical([str(path), script, instance.params, now])
    key = services, hashlib.sha256(content.encode()).hexdigest()
    name = hashlib.sha256(canonical([str(path), script]).encode()).hexdigest()
    with _preparing:
        if name in _left_alone:
            raise TaskError(_left_alone[name])
        if key not in _prepared:
            try:
                _prepared[key] = _apart(lambda: _set_up(services, instance, path, now), SETUP_S)
            except TimeoutError:
                told = f"{show_path(path)}: it did not end within {SETUP_S:g} s"
                _left_alone[name] = told
                raise TaskError(told) from None
            if len(_prepared) > _KEPT:
                _prepared.popitem(last=False)
        _prepared.move_to_end(key)
        return _prepared[key]


def _apart(call: Callable[[], T], timeout_s: float) -> T:
    """Make a call on a thread of its own, which the end of this process does not wait for.

    Raises:
        TimeoutError: It did not end; its thread goes on.
        BaseException: Any that it raised.
    """
    ended: list[tuple[T | None, BaseException | None]] = []
    process = os.getpid()

    def work() -> None:
        try:
            ended.append((call(), None))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            ended.append((None, error))
        finally:
            if os.getpid() != process:
                os._exit(1)  # The script forked: its copy of this process has nothing to do.

    thread = threading.Thread(target=work, name="agentgym-setup", daemon=True)
    thread.start()
    thread.join(timeout_s)
    if not ended:
        WATCHDOG.abandon(thread.ident or 0)
        raise TimeoutError
    value, error = ended[0]
    if error is not None:
        raise error
    return cast(T, value)


def _set_up(services: ServiceSet, instance: Instance, path: Path, now: str) -> ServicesStart:
    backend = Backend(services, services.template(WORLD_SEED, now))
    try:
        context = _desk(backend, instance, "setup", "setup")
        run_change(context, path, TaskError)
        return ServicesStart(services, backend.snapshot(), context.left)
    finally:
        backend.close()


def run_service_script(backend: Backend, instance: Instance, event: str, script: str) -> str:
    """Run an event's script on live services; undo its changes if it fails.

    Returns:
        The error of the script, empty if it succeeded.
    """
    context = _desk(backend, instance, "world", f"event {event}")
    try:
        run_change(context, instance.task.folder / script, TaskError)
    except AgentGymError as error:
        return str(error)
    return ""


def _desk(backend: Backend, instance: Instance, actor: Actor, name: str) -> SetupContext:
    seed = f"{instance.task.id}:{name}:{canonical(instance.params)}"
    return SetupContext(backend, actor, name, instance.params, seed)
