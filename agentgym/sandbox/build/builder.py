"""Runs a plan: finished steps come from the layout, every other step makes one layer.

One build at a time works on a layout. A step counts as finished once its layer is complete and its
record is renamed into place. A killed build leaves a folder below `tmp`. The next build removes
that folder and continues after the last finished step.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import os
import shutil
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from agentgym.errors import AgentGymError, MissingExtraError, SandboxError
from agentgym.records import Json
from agentgym.sandbox.build import archives
from agentgym.sandbox.build.context import write_tar
from agentgym.sandbox.build.dockerfile import expand
from agentgym.sandbox.build.plan import (
    Archive,
    Configure,
    Copy,
    Debootstrap,
    Plan,
    Pull,
    Run,
    Scratch,
    Step,
)
from agentgym.sandbox.build.settings import PATH, Settings
from agentgym.sandbox.build.worker import Worker
from agentgym.sandbox.images import Image, ImageLayout, Layer
from agentgym.sandbox.seccomp import filter_program, outer_program
from agentgym.threads import to_thread

T = TypeVar("T")

STEP_S = 3600.0
"""Time limit of one step, in seconds."""
_FILES_S = 600.0
Tell = Callable[[str], None]
"""Receives the progress of a build, line by line."""


def build(plan: Plan, *, tell: Tell, use_cache: bool = True) -> Image:
    """Return the image of a plan; build the missing steps.

    Args:
        plan: The plan to build.
        tell: Receives a line when a step begins and one when it ends.
        use_cache: False builds every step anew.

    Raises:
        SandboxError: A step failed; the message names its line and ends with its output.
    """
    if use_cache and (image := ImageLayout().find(plan.name)):
        return image
    with Builds(tell) as builds:
        return builds.build(plan, use_cache=use_cache)


class Builds:
    """Builds several plans one after the other and unpacks their common layers once.

    No other process builds on the same cache from the first build to the end of the `with` block.

    Args:
        tell: Receives a line when a step begins and one when it ends.

    Attributes:
        stopped: Whether `stop` was called.
    """

    def __init__(self, tell: Tell) -> None:
        self._layout, self._tell = ImageLayout(), tell
        self.stopped = False
        self._stack = contextlib.ExitStack()
        self._worker: Worker | None = None

    def __enter__(self) -> Builds:
        return self

    def __exit__(self, *failure: object) -> None:
        self._stack.close()

    def stop(self) -> None:
        """End the build step that runs and refuse all others; another thread may call it."""
        self.stopped = True
        if self._worker is not None:
            self._worker.stop()

    def build(self, plan: Plan, *, use_cache: bool = True) -> Image:
        """Return the image of a plan, as `build` does.

        Raises:
            SandboxError: A step failed.
        """
        if use_cache and (image := self._layout.find(plan.name)):
            return image
        worker = self._worker = self._worker or self._begin()
        if self.stopped:
            worker.stop()
        room = self._layout.root / "tmp" / "build"
        try:
            return _Build(self._layout, room, worker, self._tell, use_cache).run(plan)
        except OSError as error:
            raise SandboxError(f"the build cannot go on: {error}") from error
        finally:
            # The blobs hold what a build made; unpacked folders stay for later builds.
            for folder in room.glob("u*"):
                worker.call("remove", folder=folder.name, timeout_s=_FILES_S)

    def _begin(self) -> Worker:
        waiting = self._layout.locked(lambda: self._tell("waiting for another build to end"))
        lock = self._stack.enter_context(waiting)
        outside = Worker(self._layout.root / "tmp", lock)
        _sweep(self._layout, outside)
        self._stack.callback(_sweep, self._layout, outside)
        room = self._layout.root / "tmp" / "build"
        room.mkdir()
        return Worker(room, lock)


async def run_builds(work: Callable[[Builds], T]) -> T:
    """Build in a thread. A cancelled caller stops the build and waits for its end.

    Args:
        work: Builds, and ends soon once a build has failed and `Builds.stopped` is true.
    """
    builds = Builds(lambda line: None)

    def run() -> T:
        with builds:
            return work(builds)

    running = asyncio.ensure_future(to_thread(run))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        builds.stop()
        await asyncio.wait({running})
        raise


def remove_leftovers(*, tell: Tell) -> None:
    """Remove the leftovers of killed builds; wait for a running build."""
    layout = ImageLayout()
    if layout.root.is_dir():
        with layout.locked(lambda: tell("waiting for a build to end")) as lock:
            _sweep(layout, Worker(layout.root / "tmp", lock))


def _sweep(layout: ImageLayout, worker: Worker) -> None:
    """Remove the leftovers of this build and of killed builds."""
    for leftover in (layout.root / "tmp").iterdir():
        if leftover.is_dir():
            # The worker removes them, because the files belong to the image's accounts.
            worker.call("remove", folder=leftover.name, timeout_s=_FILES_S)
        else:
            leftover.unlink()


class _Build:
    """One build. Attributes: `layers` so far, bottom first, and `settings` so far."""

    def __init__(
        self, layout: ImageLayout, room: Path, worker: Worker, tell: Tell, use_cache: bool
    ) -> None:
        self._layout, self._room, self._worker = layout, room, worker
        self._tell, self._use_cache = tell, use_cache
        self._layers: list[Layer] = []
        self._settings = Settings()
        # Position of a layer to the folder below the room that holds its files. The key is not the
        # name: a layer may occur twice, and an overlay refuses the same folder twice.
        self._folders: dict[int, str] = {}
        self._made = 0

    def run(self, plan: Plan) -> Image:
        total, number = sum(step.makes_layer for step in plan.steps), 0
        for step in plan.steps:
            number += step.makes_layer
            shown = f"[{number}/{total}] {_shortened(step.title)}"
            began = time.monotonic()
            try:
                added = self._step(step, shown)
            except AgentGymError as error:
                raise SandboxError(f"{step.where}: {_shortened(step.title)}: {error}") from error
            except ValueError as error:
                raise SandboxError(f"{step.where}: {error}") from error
            if added is not None:
                size = sum(layer.size_bytes for layer in added) / 1e6
                self._tell(f"      {time.monotonic() - began:.1f} s, {size:.1f} MB")
        return self._layout.write_image(plan.name, self._layers, self._settings.config())

    def _step(self, step: Step, shown: str) -> Sequence[Layer] | None:
        """Run one step; return its layers, or None if it made no new ones."""
        action = step.action
        if isinstance(action, Configure):
            self._settings = self._settings.after(action)
        if not step.makes_layer:
            return None
        done = self._layout.layers_of(step.digest) if self._use_cache else None
        if done is not None:
            self._tell(f"{shown}  (cached)")
        else:
            self._tell(shown)
        layers, config = done or self._do(step)
        if done is None:
            self._layout.finish_step(step.digest, layers, config)
        if config:
            self._settings = Settings.of(config)
        self._layers += [layer for layer in layers if not _is_empty(layer)]
        return layers if done is None else None

    def _do(self, step: Step) -> tuple[tuple[Layer, ...], dict[str, Json]]:
        match action := step.action:
            case Scratch():
                return (), {}
            case Pull():
                return archives.pull(action.reference, self._room, self._layout)
            case Archive():
                return archives.open_archive(action.path, self._room, self._layout)
            case Debootstrap():
                return self._bootstrap(action), {}
            case Copy():
                return self._copy(action), {}
            case Run():
                return self._run(action, step.is_own), {}
            case _:
                path = self._settings.workdir
                return self._over("workdir", _FILES_S, path=path), {}

    def _bootstrap(self, action: Debootstrap) -> tuple[Layer, ...]:
        if shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None:
            raise MissingExtraError("debootstrap", "apt-get install debootstrap")
        if os.geteuid() != 0:
            raise SandboxError(
                "debootstrap makes device nodes, which only root may; build as root once, or begin "
                "with an image or an archive"
            )
        wanted = {"suite": action.suite, "variant": action.variant, "mirror": action.mirror}
        return self._layer("bootstrap", STEP_S, **wanted)

    def _copy(self, action: Copy) -> tuple[Layer, ...]:
        variables = self._settings.variables(action.args)
        target = expand(action.target, variables)
        files = self._room / "files.tar"
        write_tar(action.files, files)
        return self._over(
            "copy",
            _FILES_S,
            files=files.name,
            target=str(Path("/", self._settings.workdir, target)) + "/" * target.endswith("/"),
            inside=action.inside,
            owner=expand(action.owner, variables),
            mode=action.mode,
        )

    def _run(self, action: Run, is_own: bool) -> tuple[Layer, ...]:
        settings = self._settings
        calls = outer_program() if is_own else filter_program()
        shell = ("/bin/sh", "-c") if action.as_root else settings.shell
        return self._over(
            "run",
            STEP_S,
            argv=[*(action.argv or (*shell, action.script))],
            env={"PATH": PATH, **action.env, **settings.env},
            cwd="/" if action.as_root else settings.workdir or "/",
            user="root" if action.as_root else settings.user or "root",
            is_own=is_own,
            calls=base64.b64encode(calls or b"").decode(),
        )

    def _over(self, op: str, timeout_s: float, **arguments: Json) -> tuple[Layer, ...]:
        """Run an operation over the layers so far."""
        empty = self._room / "empty"
        empty.mkdir(exist_ok=True)
        lowers = [self._unpacked(number) for number in reversed(range(len(self._layers)))]
        return self._layer(op, timeout_s, lowers=[*lowers, empty.name], **arguments)

    def _unpacked(self, number: int) -> str:
        if number not in self._folders:
            blob = self._layers[number].path
            folder = f"l{blob.name[:16]}"
            if folder in self._folders.values():
                folder += f"-{number}"
            if not (self._room / folder).exists():
                # The rename is atomic, because later builds find the folder by its name.
                draft = f"u-{folder}"
                self._worker.call("unpack", file=str(blob), folder=draft, timeout_s=_FILES_S)
                (self._room / draft).rename(self._room / folder)
            self._folders[number] = folder
        return self._folders[number]

    def _layer(self, op: str, timeout_s: float, **arguments: Json) -> tuple[Layer, ...]:
        """Run an operation that makes a layer directory and its tar."""
        self._made += 1
        upper, output = f"u{self._made}", self._room / "layer.tar"
        self._worker.call(op, upper=upper, output=output.name, timeout_s=timeout_s, **arguments)
        digest = self._layout.adopt(output)
        output.unlink()
        self._folders[len(self._layers)] = upper
        return (Layer(digest, self._layout.blob(digest), compressed=False),)


def _is_empty(layer: Layer) -> bool:
    """Return whether a layer changes nothing: a tar without a member begins with zeros."""
    with gzip.open(layer.path) if layer.compressed else open(layer.path, "rb") as file:
        return not any(file.read(tarfile.BLOCKSIZE))


def _shortened(title: str) -> str:
    line = " ".join(title.split())
    return line if len(line) <= 100 else f"{line[:99]}…"
