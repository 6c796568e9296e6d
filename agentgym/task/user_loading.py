"""Reads a `user.toml` (`agentgym.task.user`), and checks what its parts say of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from agentgym.errors import TaskError, close_matches
from agentgym.manifest import Location, load_toml, locate, read_text, show_path
from agentgym.records import Json
from agentgym.task.replies import SavedReply
from agentgym.task.template import fill_json
from agentgym.task.user import RESULT, Doing, Fact, Rule, UserScript


def load_user(
    path: Path, params: Mapping[str, Json], replies: Sequence[SavedReply] = ()
) -> UserScript:
    """Read and check a user's file.

    Args:
        path: The file.
        params: Values for the slots of the task, of any seed.
        replies: The saved replies, if the user hears nothing else.

    Raises:
        TaskError: One line for each problem, with file, line and field.
    """
    script = load_toml(path, UserScript, TaskError)
    text = read_text(path, TaskError)
    problems = [
        *_references(script),
        *_listening(script, [reply.id for reply in replies]),
        *_slots(script, params),
    ]
    if problems:
        lines = [(locate(text, at), ".".join(map(str, at)), what) for at, what in problems]
        raise TaskError(
            "\n".join(f"{show_path(path)}:{line}: {at}: {what}" for line, at, what in sorted(lines))
        )
    return script


def _references(script: UserScript) -> Iterator[tuple[Location, str]]:
    """Yield every name in a script that does not exist."""
    states: list[str] = []
    for place, state in enumerate(script.state):
        if state.id in states:
            yield ("state", place, "id"), f"expected another id, {state.id!r} is taken"
        states.append(state.id)
    named: list[tuple[Location, str]] = []
    if script.start is not None:
        named.append((("start",), script.start))
    for index, fact in enumerate(script.fact):
        named += [(("fact", index, "states", i), name) for i, name in enumerate(fact.states)]
    for at, rule in script.rules():
        if rule.to is not None:
            named.append(((*at, "to"), rule.to))
    yield from ((at, _absent("state", name, states)) for at, name in named if name not in states)
    reached = {script.first_state, *(rule.to for _, rule in script.rules())}
    for place, state in enumerate(script.state):
        if state.id not in reached:
            yield ("state", place, "id"), f"no rule leads to state {state.id!r}"
    facts = [fact.id for fact in script.fact]
    for at, rule in script.rules():
        for i, name in enumerate(rule.told):
            if name not in facts:
                yield (*at, "told", i), _absent("fact", name, facts)


def _listening(script: UserScript, replies: Sequence[str]) -> Iterator[tuple[Location, str]]:
    """Yield every condition on words where there are only saved replies, and the reverse."""
    conditions = [(("fact", index), fact, ("asked",)) for index, fact in enumerate(script.fact)]
    listening: list[tuple[Location, Fact | Rule, tuple[str, ...]]] = [*conditions]
    listening += [(at, rule, ("intent", "said", "unsaid")) for at, rule in script.rules()]
    for at, one, wordy in listening:
        for name in wordy:
            if replies and getattr(one, name):
                yield (*at, name), "the user hears only saved replies; use heard = [ids of them]"
        for index, name in enumerate(one.heard):
            if name not in replies:
                yield (*at, "heard", index), _absent("saved reply", name, replies)


def _absent(kind: str, name: str, known: Sequence[str]) -> str:
    close = close_matches(name, known, limit=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known) or 'none'}"
    return f"no {kind} named {name!r}; {hint}"


def _slots(script: UserScript, params: Mapping[str, Json]) -> Iterator[tuple[Location, str]]:
    """Yield every slot of a script that nothing fills."""
    doings = dict(script.doings())
    plain = script.model_dump(mode="json", by_alias=True, exclude_unset=True)
    for at, text in _texts(plain, ()):
        for match in RESULT.finditer(text):
            if not _is_filled(match[1], at, doings):
                need = "failing = '…'" if match[1] == "error" else "what is done or said after it"
                yield at, f"{match[0]} comes from a call in do = [ … ], for {need}"
        try:
            fill_json(RESULT.sub("", text), params, "")
        except TaskError as error:
            yield at, str(error).removeprefix(": ")


def _is_filled(slot: str, at: Location, doings: Mapping[Location, Doing]) -> bool:
    """Return whether a call comes before the text at a place, so that it can fill a slot of it."""
    owner = next((at[:n] for n in range(len(at)) if at[:n] in doings), None)
    if owner is None or not doings[owner].do:
        return False
    field, *rest = at[len(owner) :]
    if slot == "error":
        return field == "failing"
    return field == "say" or (field == "do" and rest[0] != 0)


def _texts(value: object, at: Location) -> Iterator[tuple[Location, str]]:
    if isinstance(value, str):
        yield at, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(inner, (*at, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*at, index))
