"""The host's answers to its workers: the parts of the evidence that are not files.

Rooms and judges belong to the host. Their failures are divided by cause: those that an agent's
files can bring about (`guest`) and those that they cannot (`grader`).
"""

from __future__ import annotations

import concurrent.futures
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from agentgym.errors import (
    AgentGymError,
    GuestFileError,
    SandboxEndedError,
    SandboxError,
    SandboxLimitError,
    VerifierError,
)
from agentgym.protocols import FileTree, Room
from agentgym.records import Change, Criterion, Exhibit, Level, Step
from agentgym.sandbox.layers.tree import LayerLocation, LayerTree, LiveTree
from agentgym.verify.evidence import CommonEvidence, EpisodeEvidence
from agentgym.verify.judge.opening import HOW
from agentgym.verify.service_state import ServicesSeen, digest_of
from agentgym.verify.thread import threaded

OpenPacked: TypeAlias = Callable[[tuple[str, ...], bytes, bool], Room]
"""Opens a clean room for packed artifacts, shared or fresh."""


_BAD_REQUEST = (
    *(ValueError, TypeError, LookupError, OSError),
    *(AttributeError, AssertionError, ArithmeticError, RecursionError),
)


def location_of(tree: FileTree) -> LayerLocation | None:
    """Return the folder where a worker finds files, or None if it has to ask the host."""
    return tree.location() if isinstance(tree, (LayerTree, LiveTree)) else None


_LATE_S: Final = 1.0
_PICTURES_BYTES: Final = 32 * 2**20


class Answers:
    """Answers one worker about one world.

    Args:
        evidence: The evidence of the world.
        open_packed: Opens clean rooms; None if no rooms are available.

    Attributes:
        outage: The last failure that no agent can bring about; empty if there was no failure.
    """

    def __init__(self, evidence: CommonEvidence, open_packed: OpenPacked | None = None) -> None:
        self._evidence, self._open = evidence, open_packed
        self._rooms: list[tuple[Room, bool]] = []
        self.outage = ""

    @property
    def after(self) -> FileTree:
        """The files to be judged."""
        return self._evidence.after

    def changes(self) -> tuple[Change, ...]:
        """Return how the files of a finished world differ from those of the setup."""
        return tuple(self._finished().changes)

    def reply(self, asked: Mapping[str, Any], block: bytes) -> tuple[str, object]:
        """Return ``("answer", value)``, or the cause of a failure and the exception to raise."""
        kind = str(asked["ask"])
        try:
            return "answer", getattr(self, f"_on_{kind.replace('.', '_')}")(asked, block)
        except (GuestFileError, SandboxEndedError, SandboxLimitError) as error:
            return "guest", error
        except SandboxError as error:
            # A program in a clean room may have stopped the room from answering.
            theirs = kind.startswith("room.") and kind != "room.open" and self._is_used(asked)
            return ("guest", error) if theirs else self._grader(error)
        except AgentGymError as error:
            return self._grader(error)
        except _BAD_REQUEST as error:
            # caused by the check's request, which the agent's files may have led to
            return "guest", error

    def _grader(self, error: AgentGymError) -> tuple[str, object]:
        self.outage = str(error)
        return "grader", error

    def _is_used(self, asked: Mapping[str, Any]) -> bool:
        return bool(self._rooms[asked["room"]][1])

    def _on_steps(self, asked: Mapping[str, Any], block: bytes) -> object:
        steps, size = list[Step](), 0
        for step in self._evidence.steps[asked["known"] :]:
            image = step.observation.image
            size += 0 if image is None else image.nbytes
            if steps and size > _PICTURES_BYTES:
                break
            steps.append(step)
        return steps

    def _on_changes(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self.changes()

    def _on_processes(self, asked: Mapping[str, Any], block: bytes) -> object:
        return tuple(self._finished().processes)

    def _on_connections(self, asked: Mapping[str, Any], block: bytes) -> object:
        return tuple(self._finished().connections)

    def _on_killed_for_memory(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._finished().killed_for_memory

    def _on_requests(self, asked: Mapping[str, Any], block: bytes) -> object:
        return tuple(self._finished().requests)

    def _on_page_state(self, asked: Mapping[str, Any], block: bytes) -> object:
        return dict(self._finished().page_state)

    def _on_calls(self, asked: Mapping[str, Any], block: bytes) -> object:
        return list(self._services.calls[asked["known"] :])

    def _on_services_before(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._services.before.to_read()

    def _on_services_after(self, asked: Mapping[str, Any], block: bytes) -> object:
        now = self._services.after
        return None if digest_of(now) == asked["known"] else now.to_read()

    @property
    def _services(self) -> ServicesSeen:
        assert self._evidence.services is not None
        return self._evidence.services

    def _on_gold(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._evidence.gold(asked["name"])

    def _finished(self) -> Any:
        # A running world has the same attributes, except those that `refusal` names.
        return self._evidence

    def _tree(self, asked: Mapping[str, Any]) -> FileTree:
        if asked["tree"] not in ("before", "after"):
            raise ValueError(f"expected the files before or after, not {asked['tree']!r:.40}")
        tree: FileTree = getattr(self._evidence, asked["tree"])
        return tree

    def _on_stat(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._tree(asked).stat(asked["path"], follow=asked["follow"])

    def _on_read(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._tree(asked).read(asked["path"], max_bytes=asked["max_bytes"])

    def _on_list(self, asked: Mapping[str, Any], block: bytes) -> object:
        return list(self._tree(asked).list(asked["path"]))

    def _on_walk(self, asked: Mapping[str, Any], block: bytes) -> object:
        return list(self._tree(asked).walk(asked["path"]))

    def _on_room_open(self, asked: Mapping[str, Any], block: bytes) -> object:
        if self._open is None:
            raise VerifierError("no clean rooms here: this is not the end of an episode")
        artifacts = tuple(asked["artifacts"])
        room = self._open(artifacts, block, asked["shared"])
        self._rooms.append((room, bool(artifacts)))
        return len(self._rooms) - 1

    def _on_room_run(self, asked: Mapping[str, Any], block: bytes) -> object:
        room, _ = self._rooms[asked["room"]]
        return room.run(
            asked["argv"],
            cwd=asked["cwd"],
            stdin=block,
            env=asked["env"],
            timeout_s=asked["timeout_s"],
        )

    def _on_room_read(self, asked: Mapping[str, Any], block: bytes) -> object:
        return self._rooms[asked["room"]][0].read(asked["path"])

    def _on_room_write(self, asked: Mapping[str, Any], block: bytes) -> object:
        self._rooms[asked["room"]][0].write(asked["path"], block, mode=asked["mode"])
        return None

    def _on_judge_there(self, asked: Mapping[str, Any], block: bytes) -> object:
        if getattr(self._evidence, "judge_with", None) is None:
            raise VerifierError(f"this check asks a judge and none is set; {HOW}")
        return None

    def _on_judge(self, asked: Mapping[str, Any], block: bytes) -> object:
        evidence = self._evidence
        assert isinstance(evidence, EpisodeEvidence)
        levels = tuple(Level(**level) for level in asked["criterion"]["levels"])
        decide = functools.partial(
            evidence.decide,
            Criterion(asked["criterion"]["text"], levels),
            [_exhibit(fields, evidence.steps) for fields in asked["exhibits"]],
            votes=asked["votes"],
            top_k=asked["top_k"],
        )
        # The judge is told its time limit, but may exceed it.
        deciding = threaded(decide)
        limit_s = evidence.judge_limit_s
        try:
            with evidence.judging():
                return deciding.result(None if math.isinf(limit_s) else limit_s + _LATE_S)
        except concurrent.futures.TimeoutError:
            raise VerifierError("the judge gave no answer in its time for one criterion") from None


def _exhibit(fields: Mapping[str, Any], steps: Sequence[Step]) -> Exhibit:
    texts = {name: fields[name] for name in ("id", "kind", "title", "text", "left_out")}
    image = None
    if "screen" in fields:
        image = steps[fields["screen"]].observation.image
    return Exhibit(**texts, image=image)
