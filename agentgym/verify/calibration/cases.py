"""Calibration cases: plausible ends of episodes, each with its correct verdict.

The module owns the file format ``agentgym.calibration/1`` of ``verifiers/<pack>/calibration.toml``.
Plain functions in ``samples.py``, beside that file, make the binary files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from agentgym.errors import NotFoundError, ServiceError, VerifierError, pass_interruptions
from agentgym.manifest import Manifest, load_toml, show_path
from agentgym.records import (
    Action,
    Actor,
    Decision,
    Effect,
    Json,
    Observation,
    Process,
    SentReply,
    Step,
    StepEvent,
    StepEventKind,
    TokenUsage,
    UserMessage,
    UserTurn,
)
from agentgym.services.load import find_services
from agentgym.verify.evidence import EpisodeEvidence
from agentgym.verify.giving_up import GIVE_UP
from agentgym.verify.memory_evidence import Entry, File, Folder, Link, evidence, play_services
from agentgym.verify.rubric.packs import Pack, load_checks, load_pack
from agentgym.verify.service_state import ServicesSeen

Files = dict[str, Entry]


class FileManifest(Manifest):
    """The content of a path: a text, a link, a folder, a function's result, or nothing."""

    text: str | None = None
    link: str | None = None
    folder: bool = False
    absent: bool = False
    sample: str | None = None
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    mode: str | None = Field(default=None, pattern=r"^[0-7]{3,4}$")

    @model_validator(mode="after")
    def _one_thing(self) -> FileManifest:
        given = [self.text is not None, self.link is not None, self.folder, self.absent]
        if sum([*given, self.sample is not None]) != 1:
            raise ValueError("expected exactly one of text, link, folder, absent and sample")
        return self


class ReplyManifest(Manifest):
    """A saved reply, with the values of its fields."""

    reply: str
    fields: dict[str, JsonValue] = Field(default_factory=dict)


class StepManifest(Manifest):
    """One step of the episode.

    Attributes:
        replies: The saved replies that a `message_user` sends.
        left: Whether the user leaves the conversation after them.
    """

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    text: str = ""
    effect: Effect = Effect.CHANGED
    tokens: int = Field(default=0, ge=0)
    replies: tuple[ReplyManifest, ...] = ()
    left: bool = False


class CallManifest(Manifest):
    """One call of a service. It is really made, and the service may refuse it."""

    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    by: Actor = "agent"


class GaveUpManifest(Manifest):
    """A `give_up` with its fields."""

    reason: str
    category: str = ""
    subject: str = ""


class ProcessManifest(Manifest):
    """A process that is alive at the end."""

    argv: tuple[str, ...]
    tcp_ports: tuple[int, ...] = ()


FileValue = Annotated[str | FileManifest, Field(union_mode="left_to_right")]


class CaseManifest(Manifest):
    """A ``[[case]]`` table.

    Attributes:
        name: What happened, in words.
        expect: The correct result.
        limit: Why the check is known to judge otherwise; the case then counts as a mistake.
        before: Files before the agent starts.
        after: Files that the agent changed.
        call: Calls of the services, in order.
        gave_up: The reason of giving up, or a table with `category` and `subject` too.
        page_state: Values that were read from the page in the browser, by name.
    """

    name: str = Field(min_length=1)
    use: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    expect: Literal["pass", "fail"]
    limit: str = ""
    before: dict[str, FileValue] = Field(default_factory=dict)
    after: dict[str, FileValue] = Field(default_factory=dict)
    gold: dict[str, FileValue] = Field(default_factory=dict)
    answer: str | None = None
    gave_up: Annotated[str | GaveUpManifest, Field(union_mode="left_to_right")] | None = None
    step: tuple[StepManifest, ...] = ()
    process: tuple[ProcessManifest, ...] = ()
    call: tuple[CallManifest, ...] = ()
    page_state: dict[str, JsonValue] = Field(default_factory=dict)


class CalibrationManifest(Manifest):
    """The whole of ``calibration.toml``.

    Attributes:
        services: The environment whose services every case starts with, with the data of seed 1.
        rows: Rows that the setup added to them, by table.
    """

    schema_version: Literal["agentgym.calibration/1"]
    services: str | None = None
    rows: dict[str, list[dict[str, JsonValue]]] = Field(default_factory=dict)
    case: tuple[CaseManifest, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _calls_have_services(self) -> CalibrationManifest:
        if self.services is None and (self.rows or any(case.call for case in self.case)):
            raise ValueError("rows and call need services = 'NAME', an environment that has some")
        return self


@dataclass(frozen=True)
class Case:
    """A case that is ready to be judged; its evidence has not opened a clean room yet."""

    name: str
    use: str
    arguments: Mapping[str, Json]
    expect: str
    limit: str
    before: Files
    evidence: EpisodeEvidence


def load_cases(folder: Path) -> tuple[Pack, list[Case]]:
    """Load a pack and its calibration cases.

    Raises:
        VerifierError: The pack, the cases or a sample is broken, or a case names another pack.
    """
    pack, path = load_pack(folder), folder / "calibration.toml"
    manifest = load_toml(path, CalibrationManifest, VerifierError)
    samples = folder / "samples.py"
    maker = _Maker(load_checks(samples) if samples.exists() else {}, show_path(path))
    cases = []
    for item in manifest.case:
        if item.use.partition(".")[0] != pack.name:
            raise VerifierError(f"{show_path(path)}: case {item.name!r} uses {item.use!r}")
        before = maker.files(item.before)
        changed = {path: value for path, value in item.after.items() if not _gone(value)}
        kept = {path: entry for path, entry in before.items() if path not in item.after}
        seen = evidence(
            kept | maker.files(changed),
            before,
            gold={name: maker.bytes(value) for name, value in item.gold.items()},
            answer=item.answer,
            gave_up=None if item.gave_up is None else _give_up(item.gave_up).reason,
            steps=[_step(number, step) for number, step in enumerate(_steps(item), 1)],
            processes=[
                Process(pid, process.argv, process.tcp_ports)
                for pid, process in enumerate(item.process, 2)
            ],
            services=_services(manifest, item, show_path(path)),
            page_state=item.page_state,
        )
        case = Case(item.name, item.use, item.arguments, item.expect, item.limit, before, seen)
        cases.append(case)
    return pack, cases


def _services(file: CalibrationManifest, item: CaseManifest, where: str) -> ServicesSeen | None:
    if file.services is None:
        return None
    calls = [(call.by, call.tool, call.arguments) for call in item.call]
    try:
        return play_services(find_services(file.services), calls, file.rows)
    except (NotFoundError, ServiceError, sqlite3.Error) as error:
        raise VerifierError(f"{where}: case {item.name!r}: {error}") from None


def _steps(item: CaseManifest) -> Sequence[StepManifest]:
    """Return the steps of a case; giving up is the last of them."""
    if item.gave_up is None:
        return item.step
    arguments: dict[str, JsonValue] = dict(_give_up(item.gave_up).model_dump(exclude_defaults=True))
    return (*item.step, StepManifest(tool=GIVE_UP, arguments=arguments))


def _give_up(given: str | GaveUpManifest) -> GaveUpManifest:
    return GaveUpManifest(reason=given) if isinstance(given, str) else given


def _gone(value: str | FileManifest) -> bool:
    return isinstance(value, FileManifest) and value.absent


def _step(number: int, step: StepManifest) -> Step:
    decision = Decision(Action(step.tool, step.arguments), usage=TokenUsage(0, step.tokens))
    sent = tuple(SentReply(one.reply, one.fields) for one in step.replies)
    turn = UserTurn(step.text, left=step.left)
    events = [StepEvent(StepEventKind.USER, "user", "answered", turn, UserMessage("", sent))]
    seen = Observation(step.text, effect=step.effect)
    return Step(number, decision, seen, events=tuple(events) if sent else ())


class _Maker:
    """Builds files from the descriptions in a case."""

    def __init__(self, samples: Mapping[str, Callable[..., Any]], where: str) -> None:
        self._samples, self._where = samples, where

    def files(self, manifests: Mapping[str, str | FileManifest]) -> Files:
        found: Files = {}
        for path, value in manifests.items():
            made = self._make(value)
            if isinstance(made, Mapping):  # a folder: its contents by relative path
                found |= {f"{path}/{name}": _entry(inner) for name, inner in made.items()}
            else:
                found[path] = _entry(made)
        return found

    def bytes(self, value: str | FileManifest) -> bytes:
        entry = self._make(value)
        if not isinstance(entry, (File, bytes, str)):
            raise VerifierError(f"{self._where}: a gold file is text or a sample of bytes")
        made = _entry(entry)
        assert isinstance(made, File)
        return made.data

    def _make(self, value: str | FileManifest) -> Any:
        if isinstance(value, str):
            return value
        if value.link is not None:
            return Link(value.link)
        mode = int(value.mode, 8) if value.mode else None
        if value.folder:
            return Folder(mode if mode is not None else 0o755)
        made: Any = value.text
        if value.sample is not None:
            if value.sample not in self._samples:
                raise VerifierError(f"{self._where}: samples.py has no {value.sample!r}")
            made = self._sample(value.sample, value.arguments)
        if mode is None:
            return made
        return File(made.encode() if isinstance(made, str) else made, mode)

    def _sample(self, name: str, arguments: Mapping[str, Json]) -> Any:
        try:
            return self._samples[name](**arguments)
        except BaseException as error:  # an author's function may raise anything
            pass_interruptions(error)
            what = f"{type(error).__name__}: {error}"
            raise VerifierError(f"{self._where}: sample {name!r}: {what}") from error


def _entry(made: Entry | bytes | str) -> Entry:
    if isinstance(made, str):
        made = made.encode()
    return File(made) if isinstance(made, bytes) else made
