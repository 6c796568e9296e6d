"""The only way to call a service: check a call, run it in a transaction, write it to the audit.

Every transport calls `dispatch` and adds nothing but its own envelope.
"""

from __future__ import annotations

import json
import reprlib
import sqlite3
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from agentgym.errors import ServiceError, close_matches, pass_interruptions
from agentgym.records import Actor, AuditEntry, Json, Reply, RowChangeKind, RowRef
from agentgym.records.bounds import MAX_DEPTH, MAX_VALUES, flaw_of
from agentgym.services.audit import Audit
from agentgym.services.budget import WATCHDOG, OverBudgetError, over_budget
from agentgym.services.functions import Function
from agentgym.services.hashing import RowPatch
from agentgym.services.image import Handling
from agentgym.services.layout import Layout
from agentgym.services.live import LiveServices

T = TypeVar("T")

MAX_CHARACTERS: Final = 2**20


def dispatch(
    backend: LiveServices, tool: str, arguments: Mapping[str, Json], actor: Actor = "agent"
) -> Reply:
    """Call a tool.

    It raises nothing for mistakes of the caller or the service: the reply holds the error, the
    state is as before, and the audit has an entry.

    Args:
        backend: The live services.
        tool: ``<service>_<method>``.
        arguments: A JSON object.
        actor: Actor who calls.
    """
    with backend.lock:
        before = backend.state.hash
        raised, patches, text = "", list[RowPatch](), ""
        try:
            text = _as_json(arguments)
            reply, patches = _call(backend, tool, text, actor)
        except ServiceError as refusal:
            reply = Reply(error=refusal)
        except _OwnFault as fault:
            raised = fault.raised
            reply = Reply(error=ServiceError("internal", fault.told))
        error = reply.error
        backend.audit.append(
            AuditEntry(
                sequence=len(backend.audit),
                now=backend.now,
                actor=actor,
                tool=tool[:200] if isinstance(tool, str) else repr(tool)[:200],
                arguments_json=backend.audit.bounded(
                    text or _encode({"unfit": reprlib.repr(arguments)})
                ),
                result_json=backend.audit.bounded(reply.result_json),
                code=error.code if error else "",
                error=error.message if error else "",
                field=(error.field or "") if error else "",
                raised=raised,
                before=before,
                after=backend.state.hash,
                changed=row_refs(backend.state.layout, backend.audit, patches),
            )
        )
        return reply


class _OwnFault(Exception):
    """The service failed because of a defect of its own."""

    def __init__(self, told: str, raised: str) -> None:
        self.told, self.raised = told, raised


def _call(
    backend: LiveServices, tool: str, text: str, actor: Actor
) -> tuple[Reply, list[RowPatch]]:
    function = backend.services.functions.get(tool) if isinstance(tool, str) else None
    if function is None:
        raise _unknown(tool, list(backend.services.functions))
    handling = Handling(backend.images, [])
    taken = function.take(text, handling)
    method = getattr(backend.instances[function.service], function.method)
    backend.actor = actor
    state = backend.state
    state.begin()
    try:
        result = _within_budget(backend, actor, lambda: function.give(method(**taken), handling))
        _check_size(backend, result)
        patches = _patches(backend, function)
    except ServiceError as error:
        state.rollback()
        if error.code == "internal":
            raise _own_fault(tool, error) from error
        raise
    except OverBudgetError:
        state.rollback()
        raise
    except BaseException as error:
        # Any exception of a service's own code is the service's fault; its changes are undone.
        state.rollback()
        pass_interruptions(error)
        raise _own_fault(tool, error) from error
    state.commit(patches)
    return Reply(result, images=tuple(handling.shown)), patches


def _within_budget(backend: LiveServices, actor: Actor, run: Callable[[], T]) -> T:
    """Run a call within its budget; calls of the world have no budget.

    Raises:
        ServiceError: The call costs too much.
    """
    budget = backend.budget
    if actor in ("world", "setup"):
        return run()
    watched = None
    budget.begin()
    try:
        try:
            watched = WATCHDOG.watch(budget.limits, backend.state.interrupt)
            return run()
        finally:
            WATCHDOG.leave(watched)
    except ServiceError:
        raise
    except (Exception, OverBudgetError) as error:
        # The watchdog may have raised while it was being left. A callback of the database may also
        # have turned its exception into another.
        WATCHDOG.leave(watched)
        if isinstance(error, sqlite3.OperationalError) and "is full" in str(error):
            most = budget.limits.state_bytes
            raise ServiceError(
                "conflict", f"there is no room for more: the services hold {most:,} bytes"
            ) from error
        over = budget.over or (watched.over if watched else "")
        if over:
            raise over_budget(over) from error
        raise
    finally:
        budget.end()


def _check_size(backend: LiveServices, result: str) -> None:
    most = backend.budget.limits.result_bytes
    if backend.actor not in ("world", "setup") and len(result) > most:
        raise over_budget(f"a result of {len(result):,} bytes, more than {most:,}")


def _patches(backend: LiveServices, function: Function) -> list[RowPatch]:
    patches = backend.state.patches()
    if patches and not function.writes:
        table = backend.state.layout.tables[patches[0].key[0]].name
        raise ServiceError("internal", f"it is marked as reading and changed {table!r}")
    return patches


def _as_json(arguments: object) -> str:
    if not isinstance(arguments, Mapping):
        raise ServiceError("invalid", f"expected an object, got {type(arguments).__name__}")
    try:
        text = _encode(arguments)
        size = len(text.encode())
    except RecursionError:
        raise ServiceError("invalid", "the arguments are nested too deeply") from None
    except UnicodeEncodeError:
        raise ServiceError("invalid", "a lone surrogate in the arguments is not text") from None
    except (TypeError, ValueError) as error:
        raise ServiceError("invalid", f"the arguments are not JSON: {error}") from None
    if size > MAX_CHARACTERS:
        raise ServiceError(
            "invalid", f"the arguments are {size} bytes of JSON; expected at most {MAX_CHARACTERS}"
        )
    # Only a text with so many brackets or commas can hold so deep or so many values.
    suspect = text.count("[") + text.count("{") > MAX_DEPTH or text.count(",") > MAX_VALUES - 2
    if suspect and (flaw := flaw_of(arguments)):
        raise ServiceError("invalid", f"the arguments are out of bounds: {flaw}")
    # The escape also appears where a text spells it out, so the parsed values decide.
    if "\\u0000" in text and _has_nul(json.loads(text)):
        raise ServiceError("invalid", "NUL characters are not allowed")
    return text


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, default=_plain
).encode


def _unfit(arguments: object) -> str:
    return _encode({"unfit": reprlib.repr(arguments)})


def _has_nul(value: object) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(map(_has_nul, value)) or any(map(_has_nul, value.values()))
    return isinstance(value, list) and any(map(_has_nul, value))


def _unknown(tool: object, known: list[str]) -> ServiceError:
    near = close_matches(tool, known) if isinstance(tool, str) and len(tool) <= 200 else []
    guess = f"; did you mean {near[0]!r}?" if near else f"; expected one of: {', '.join(known)}"
    name = repr(tool) if len(repr(tool)) <= 80 else repr(tool)[:80] + "…"
    return ServiceError("invalid", f"no tool named {name}{guess}", "tool")


def _own_fault(tool: str, error: BaseException) -> _OwnFault:
    return _OwnFault(
        f"{tool} failed by a fault of the service itself; nothing was changed",
        f"{type(error).__name__}: {error}",
    )


def row_refs(layout: Layout, audit: Audit, patches: list[RowPatch]) -> tuple[RowRef, ...]:
    """Return the rows that some committed patches are about, with the columns that people see."""
    tables = layout.tables
    refs = []
    for patch in patches:
        table = tables[patch.key[0]]
        row = None
        if table.seen and patch.row is not None:
            row = audit.bounded_row(dict(zip(table.hashed, patch.row, strict=True)))
        refs.append(RowRef(table.name, patch.key[1], _kind(patch), row))
    return tuple(refs)


def _kind(patch: RowPatch) -> RowChangeKind:
    if patch.before is None:
        return "added"
    return "removed" if patch.after is None else "changed"
