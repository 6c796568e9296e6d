"""Runs a task's setup several times and compares what the runs leave.

The runs bypass the setup cache. Each has another time, another hash seed, other process ids and
another order of directories. Files are compared by kind, permissions, link target and content, as
in the state hash; owners and modification times are ignored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Final

from agentgym.authoring.rows_afresh import differing_rows
from agentgym.authoring.subject import InitialState, Subject
from agentgym.errors import TaskError
from agentgym.protocols import FileTree
from agentgym.records import ChangeKind, FileStat
from agentgym.scratch import scratch_folder
from agentgym.task.setup import Left, Surroundings, run_setup
from agentgym.task.state import HASHED_BYTES, path_matches
from agentgym.threads import to_thread

_PROGRAMS: Final = Path(__file__).with_name("surroundings")
_DAY_S: Final = 86_400
_EXCERPT: Final = 60
NAMED: Final = 5
_CAUSES: Final = "the time, the hash seed, process ids or the order of directories differ"


def _surroundings(number: int, shift_s: int, order: str) -> Surroundings:
    env = {
        "AGENTGYM_SHIFT_S": str(shift_s),
        "AGENTGYM_ORDER": order,
        "PYTHONHASHSEED": str(number),
        "PERL_HASH_SEED": str(number),
        # GNU tar packs a directory in the order that it is read in, unless its caller says.
        "TAR_OPTIONS": "--sort=name" if order == "forwards" else "--sort=inode",
    }
    return Surroundings(env, _PROGRAMS, processes=37 * (number - 1))


# A set of two texts has the same order in two runs half of the time, so there are four.
SURROUNDINGS: Final = (
    _surroundings(1, 3 * _DAY_S + 4_000, "forwards"),
    _surroundings(2, 500 * _DAY_S, "backwards"),
    _surroundings(3, 1_000 * _DAY_S + 50_000, "by-ending"),
    _surroundings(4, 40 * _DAY_S + 7, "backwards"),
)


async def differences(subject: Subject, *, named: int = NAMED) -> list[str]:
    """Return the differences between runs of a task's setup, a line each; empty if they agree.

    Args:
        subject: The task; the instance of its first seed is set up.
        named: Largest number of paths to name.

    Raises:
        TaskError: The setup fails under a changed time, hash seed or directory order.
    """
    complaints: list[str] = []
    if subject.has_sandbox and subject.task.setup is not None:
        complaints += await _differing_files(subject, named)
    if subject.services is not None and subject.task.services_setup is not None:
        # Each run takes a process of its own, and this one has a third hash seed.
        variables = [surroundings.env for surroundings in SURROUNDINGS[:2]]
        python = _PROGRAMS / "python"
        complaints += await differing_rows(subject.instance(), subject.services, variables, python)
    if complaints:
        complaints.append(
            f"between runs of the setup {_CAUSES}: use fixed dates and seeds, sort what is listed, "
            "or name paths that may differ in replay.volatile_paths"
        )
    return complaints


async def _differing_files(subject: Subject, named: int) -> list[str]:
    initial = await subject.initial_state()
    volatile = subject.task.manifest.replay.volatile_paths
    provider = initial.provider
    left: list[Left] = []
    try:
        for surroundings in SURROUNDINGS:
            if len(left) == 1:
                # A program that reads the clock in an unusual way sees another second now.
                await asyncio.sleep(1.05)
            left.append(await _run(initial, surroundings))
        trees = [await provider.open_tree(one.snapshot) for one in left]
        for (first, tree), (second, other) in pairwise(zip(left, trees, strict=True)):
            found = await to_thread(_compare, (first, tree), (second, other), volatile)
            if found := [*found, *_compare_gold(first, second)]:
                more = [f"setup: {len(found) - named} more differ"] if len(found) > named else []
                return [*found[:named], *more]
        return []
    finally:
        for one in left:
            await provider.discard(one.snapshot)


async def _run(initial: InitialState, surroundings: Surroundings) -> Left:
    try:
        return await _run_in(initial, surroundings)
    except TaskError:
        # A replaced program may fail by itself, so this does not prove the setup broken.
        return await _run_in(initial, replace(surroundings, programs=None))


async def _run_in(initial: InitialState, surroundings: Surroundings) -> Left:
    with scratch_folder("setup") as folder:
        staged = Path(folder, "gold")
        run = (initial.instance, initial.provider, initial.recipe, staged, surroundings)
        return await run_setup(*run)


def _compare(
    first: tuple[Left, FileTree], second: tuple[Left, FileTree], volatile: Sequence[str]
) -> list[str]:
    (left, tree), (others, other) = first, second
    kinds = [{change.path: change.kind for change in one.changes} for one in (left, others)]
    found = []
    for path in sorted(kinds[0].keys() | kinds[1].keys()):
        if path_matches(path, volatile):
            continue
        if what := _differs(path, tree, other, [kind.get(path) for kind in kinds]):
            found.append(f"setup: {path} {what}")
    return found


def _differs(path: str, tree: FileTree, other: FileTree, kinds: Sequence[ChangeKind | None]) -> str:
    was, now = (each.stat(path, follow=False) for each in (tree, other))
    if was is None or now is None:
        return "is there after one run and not after another" if was or now else ""
    if was.kind != now.kind:
        return f"is a {was.kind} after one run and a {now.kind} after another"
    if was.mode != now.mode:
        return f"has mode {was.mode:04o} after one run and {now.mode:04o} after another"
    if was.target != now.target:
        return f"points to {was.target!r} after one run and to {now.target!r} after another"
    if was.kind == "file":
        return _content_differs(path, tree, other, (was, now))
    # A folder that is recreated or only touched counts as the same folder.
    return "" if kinds[0] == kinds[1] or was.kind == "dir" else "differs in kind of change"


def _content_differs(
    path: str, tree: FileTree, other: FileTree, stats: tuple[FileStat, FileStat]
) -> str:
    if max(stat.size for stat in stats) > HASHED_BYTES:
        sizes = [stat.size for stat in stats]
        return f"has {sizes[0]} and {sizes[1]} bytes" if sizes[0] != sizes[1] else ""
    contents = [each.read(path, max_bytes=HASHED_BYTES) for each in (tree, other)]
    return first_difference(contents[0], contents[1])


def _compare_gold(first: Left, second: Left) -> list[str]:
    found = []
    for name in sorted(first.gold.keys() | second.gold.keys()):
        was, now = first.gold.get(name), second.gold.get(name)
        if was is None or now is None:
            found.append(f"setup: gold {name!r} is there after one run and not after another")
        elif what := first_difference(was, now):
            found.append(f"setup: gold {name!r} {what}")
    return found


def first_difference(was: bytes, now: bytes) -> str:
    """Return where two contents first differ: a line of a text, a byte of anything else."""
    if was == now:
        return ""
    pairs = enumerate(zip(was, now, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(was), len(now)))
    try:
        was.decode(), now.decode()
    except UnicodeDecodeError:
        return f"differs at byte {at} of {len(was)}, from run to run"
    line = was.count(b"\n", 0, at) + 1
    start = was.rfind(b"\n", 0, at) + 1
    told = [_line(each, start, at) for each in (was, now)]
    return f"differs in line {line}: {told[0]} in one run, {told[1]} in another"


def _line(data: bytes, start: int, at: int) -> str:
    """Return the line that begins at byte `start`, shortened to the part around byte `at`."""
    end = data.find(b"\n", at)
    end = len(data) if end < 0 else end
    head = max(start, at - _EXCERPT // 2)
    text = data[head : min(end, head + _EXCERPT)].decode("utf-8", "replace")
    cut = "…" if end > head + _EXCERPT else ""
    return f"{'…' if head > start else ''}{text!r}{cut}"
