"""The contract suite of services, which every set of service folders must pass.

Subclass `ServiceContract` in a test module; pytest finds the inherited tests. The calls are
generated from the schemas and the seeded data. The transports need the extra `mcp`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jsonschema
import numpy as np

from agentgym.records import Json
from agentgym.services import AuditEntry, Backend, ServiceSet, diff
from agentgym.services.functions import Function
from agentgym.services.state import Rows, Value, hash_from_scratch
from agentgym.surfaces.call_sampler import HOSTILE, MADE_UP, CallSampler, free_texts, wrong_calls

Call = tuple[str, Mapping[str, Json]]


class ServiceContract:
    """Tests that every set of services passes.

    Attributes:
        seed: Seed of the data and of the calls.
        samples: Calls per tool.
        examples: Values by ``tool.parameter``, for values that cannot be drawn.
        accepted: Arguments by tool that succeed in the seeded state, for tools that reject nearly
            every generated call.
        every_statement: Whether writes fail at each of their statements, rather than where each
            SQL text runs first and last.

    Example:
        >>> from agentgym.services import Service
        >>> class Empty(Service):
        ...     pass
        >>> class TestEmpty(ServiceContract):
        ...     def make(self) -> ServiceSet:
        ...         return ServiceSet({"empty": Empty})
        >>> TestEmpty().test_tools_are_described()
    """

    seed = 1
    samples = 40
    examples: Mapping[str, Sequence[Json]] = {}
    accepted: Mapping[str, Mapping[str, Json]] = {}
    every_statement = False

    def make(self) -> ServiceSet:
        """Return the services."""
        raise NotImplementedError

    # --- what there is to work with --------------------------------------------------------

    def _backend(self) -> Backend:
        services = self.make()
        return Backend(services, services.template(self.seed))

    def _sampler(self, backend: Backend, salt: int = 0) -> CallSampler:
        return CallSampler(backend, np.random.default_rng((self.seed, salt)), self.examples)

    def _functions(self, writes: bool) -> list[Function]:
        return [f for f in self.make().functions.values() if f.writes == writes]

    def _accepted(self, backend: Backend, function: Function) -> Mapping[str, Json]:
        """Return arguments that the tool accepts in the backend's present state."""
        if function.spec.name in self.accepted:
            return self.accepted[function.spec.name]
        sampler = self._sampler(backend, 1)
        told = ""
        for _ in range(10 * self.samples):
            arguments = sampler.draw(function)
            trial = backend.fork()
            reply = trial.call(function.spec.name, arguments)
            trial.close()
            if reply.error is None:
                return arguments
            told = str(reply.error)
        raise AssertionError(
            f"no made-up call of {function.spec.name} was accepted ({told}); "
            "name examples, or one that is in 'accepted'"
        )

    # --- tests -----------------------------------------------------------------------------

    def test_tools_are_described(self) -> None:
        """Schemas are closed JSON Schema 2020-12, and every parameter is described."""
        for name, function in self.make().functions.items():
            spec = function.spec
            assert spec.name == name and spec.description.strip(), name
            for schema in (spec.parameters, function.result_schema):
                jsonschema.Draft202012Validator.check_schema(dict(schema))
            for part in _objects(dict(spec.parameters)):
                assert part.get("additionalProperties") is False, name
            properties: Any = spec.parameters["properties"]
            assert all(schema.get("description") for schema in properties.values()), name

    def test_reads_change_nothing(self) -> None:
        """Reads with many legal arguments leave the hash unchanged and give sound answers."""
        backend = self._backend()
        before = backend.hash
        for function in self._functions(writes=False):
            sampler = self._sampler(backend)
            answered = 0
            for _ in range(self.samples):
                answered += _sound(backend, function, sampler.draw(function))
                assert backend.hash == before, f"{function.spec.name} changed the state"
            assert answered, f"no call of {function.spec.name} was answered; name examples"
        snapshot = backend.snapshot()
        assert str(hash_from_scratch(snapshot.layout, snapshot.data)) == before

    def test_writes_are_answered_and_hashed(self) -> None:
        """Sampled writes give sound answers, and the hash is that of the rows."""
        backend = self._backend()
        for function in self._functions(writes=True):
            sampler = self._sampler(backend)
            for _ in range(self.samples):
                _sound(backend, function, sampler.draw(function))
            snapshot = backend.snapshot()
            assert str(hash_from_scratch(snapshot.layout, snapshot.data)) == backend.hash

    def test_writes_are_whole_or_nothing(self) -> None:
        """A write that fails at any of its SQL statements changes nothing."""
        backend = self._backend()
        before = backend.snapshot()
        for function in self._functions(writes=True):
            arguments = self._accepted(backend, function)
            statements = _statements(backend, function, arguments)
            assert statements, f"{function.spec.name} writes and runs no SQL"
            for number in range(len(statements)) if self.every_statement else _ends(statements):
                trial = backend.fork()
                trial.state.rows = _Failing(trial.state.rows, number)
                reply = trial.call(function.spec.name, arguments)
                where = f"{function.spec.name}, statement {number}"
                assert reply.error is not None and reply.error.code == "internal", where
                after = trial.snapshot()
                assert after.hash == before.hash, where
                # Equal bytes are equal rows; reading every row takes most of this test's time.
                if after.data != before.data:
                    assert not diff(before, after), where
                    assert str(hash_from_scratch(after.layout, after.data)) == before.hash, where
                entry = trial.audit[-1]
                assert (entry.before, entry.after, entry.changed) == (before.hash,) * 2 + ((),)
                assert "_InjectedError" in entry.raised, where
                trial.close()

    def test_wrong_arguments_are_told(self) -> None:
        """Unknown tools and extra, missing, wrong or unfit arguments give typed errors."""
        backend = self._backend()
        before = backend.hash
        for function in backend.services.functions.values():
            legal = self._sampler(backend).draw(function)
            for what, arguments, field in wrong_calls(function, legal):
                error = backend.call(function.spec.name, arguments).error
                where = f"{function.spec.name}: {what}"
                assert error is not None and error.code == "invalid", where
                assert not field or (error.field or "").split("[")[0].split(".")[0] == field, where
                assert len(error.message) < 2000 and backend.hash == before, where
        for name in ("", "no_such_tool", "x" * 10_000, "'; --"):
            error = backend.call(name, {}).error
            assert error is not None and (error.code, error.field) == ("invalid", "tool")

    def test_hostile_texts_are_texts(self) -> None:
        """SQL, paths, markup and instructions are stored as they are, and break nothing.

        If a made-up text changes nothing as an argument, the argument is a key: no row has that
        key.
        """
        backend = self._backend()
        kept = set[str]()
        takes_text = False
        for function in backend.services.functions.values():
            texts = free_texts(function)
            contents = {name for name in texts if self._is_content(backend, function, name)}
            takes_text |= bool(contents)
            for text in HOSTILE if texts else ():
                trial = backend.fork()
                legal = self._accepted(trial, function)
                for name in texts:
                    reply = trial.call(function.spec.name, {**legal, name: text})
                    assert reply.error is None or reply.error.code != "internal", reply.error
                    if name in contents:
                        kept |= _stored(trial, text)
                trial.close()
        assert not takes_text or kept == set(HOSTILE)

    def _is_content(self, backend: Backend, function: Function, name: str) -> bool:
        """Return whether a new text is accepted as an argument and changes a row."""
        if not function.writes:
            return False
        trial = backend.fork()
        legal = self._accepted(trial, function)
        reply = trial.call(function.spec.name, {**legal, name: MADE_UP})
        content = reply.error is None and bool(trial.audit[-1].changed)
        trial.close()
        return content

    def test_the_same_calls_give_the_same_state(self) -> None:
        """Data and calls depend only on their seeds."""
        first = self._backend()
        again = ServiceSet(self.make().classes)
        second = Backend(again, again.template(self.seed))
        assert first.hash == second.hash
        for tool, arguments in self._calls():
            assert first.call(tool, arguments).json == second.call(tool, arguments).json
        assert _told(first) == _told(second) and first.hash == second.hash

    def test_forks_are_apart_and_restoring_brings_back(self) -> None:
        """A fork's writes stay in the fork; a restored state has the old hash and answers."""
        backend = self._backend()
        snapshot, before = backend.snapshot(), backend.hash
        fork = backend.fork()
        for tool, arguments in self._calls():
            fork.call(tool, arguments)
        assert backend.hash == before and not diff(snapshot, backend.snapshot())
        after = fork.snapshot()
        assert bool(diff(snapshot, after)) == (fork.hash != before)
        fork.restore(snapshot)
        assert fork.hash == before and not diff(snapshot, fork.snapshot())
        again = self.make().snapshot_of(bytes(after), after.now)
        assert again.hash == after.hash

    def test_callers_at_once_are_served_in_turn(self) -> None:
        """Calls from many threads give one chain of hashes without a gap."""
        backend = self._backend()
        calls = self._calls()
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(lambda call: backend.call(*call), calls))
        assert all(r.error is None or r.error.code != "internal" for r in replies)
        entries = list(backend.audit)
        assert [entry.sequence for entry in entries] == list(range(len(calls)))
        for one, other in zip(entries, entries[1:], strict=False):
            assert one.after == other.before
        snapshot = backend.snapshot()
        assert str(hash_from_scratch(snapshot.layout, snapshot.data)) == backend.hash

    def test_the_transports_agree(self) -> None:
        """In-process, HTTP and MCP give the same answers, the same hash and the same audit."""
        legal = self._calls()
        calls = [*legal, ("no_such_tool", {}), (legal[0][0], {"no_such": 1})]
        found = []
        for carry in (_in_process, _over_http, _over_mcp):
            backend = self._backend()
            answers = carry(backend, calls)
            found.append((answers, backend.hash, _told(backend)))
        assert found[1] == found[0], "HTTP differs"
        assert found[2] == found[0], "MCP differs"

    def _calls(self) -> list[Call]:
        """Return legal calls of every tool, mixed, from a session of their own."""
        backend = self._backend()
        functions = list(backend.services.functions.values())
        rng = np.random.default_rng(self.seed)
        calls: list[Call] = []
        for k in range(4 * len(functions)):
            function = functions[int(rng.integers(len(functions)))]
            arguments = self._sampler(backend, k).draw(function)
            if "image:" not in json.dumps(arguments):  # other backends do not have that image
                backend.call(function.spec.name, arguments)
                calls.append((function.spec.name, arguments))
        return calls


class _InjectedError(Exception):
    pass


class _Failing(Rows):
    """Rows that fail at one statement, or only list the statements."""

    def __init__(self, rows: Rows, fail_at: int | None) -> None:
        super().__init__(rows._connection)
        self.done: list[str] = []
        self._fail_at = fail_at

    def execute(self, sql: str, *values: Value) -> Any:
        if len(self.done) == self._fail_at:
            raise _InjectedError(sql)
        self.done.append(sql)
        return super().execute(sql, *values)


def _statements(
    backend: Backend, function: Function, arguments: Mapping[str, Json]
) -> Sequence[str]:
    """Return the SQL texts that a call runs, in their order."""
    trial = backend.fork()
    trial.state.rows = listing = _Failing(trial.state.rows, None)
    assert trial.call(function.spec.name, arguments).error is None
    trial.close()
    return listing.done


def _ends(statements: Sequence[str]) -> Sequence[int]:
    """Return where each text stands first and last; loops repeat one text many times."""
    last = {sql: number for number, sql in enumerate(statements)}
    first = {sql: number for number, sql in reversed([*enumerate(statements)])}
    return sorted({*first.values(), *last.values()})


def _sound(backend: Backend, function: Function, arguments: Mapping[str, Json]) -> bool:
    """Call a tool, check the answer, and return whether it succeeded."""
    reply = backend.call(function.spec.name, arguments)
    where = f"{function.spec.name}({arguments})"
    entry = backend.audit[-1]
    if reply.error is not None:
        assert reply.error.code != "internal", f"{where}: {entry.raised}"
        assert entry.before == entry.after and not entry.changed, where
        return False
    jsonschema.Draft202012Validator(dict(function.result_schema)).validate(reply.result)
    assert entry.changed or entry.before == entry.after, where
    return True


def _stored(backend: Backend, text: str) -> set[str]:
    changed = backend.audit[-1].changed
    for row in changed:
        cells = backend.state.rows.all(f"SELECT * FROM {row.table} WHERE rowid = ?", row.rowid)
        if any(text in cell.values() for cell in cells):
            return {text}
    return set()


def _told(backend: Backend) -> list[AuditEntry]:
    return list(backend.audit)


def _objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if schema.get("type") == "object":
            yield schema
        for inner in schema.values():
            yield from _objects(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _objects(inner)


def _in_process(backend: Backend, calls: Sequence[Call]) -> list[Json]:
    return [json.loads(backend.call(*call).json) for call in calls]


def _over_http(backend: Backend, calls: Sequence[Call]) -> list[Json]:
    import httpx

    from agentgym.services.http import http_app, serve_http

    with serve_http(http_app(backend)) as url, httpx.Client(base_url=url) as client:
        return [client.post(f"/tools/{tool}", json=arguments).json() for tool, arguments in calls]


def _over_mcp(backend: Backend, calls: Sequence[Call]) -> list[Json]:
    from mcp import Client

    from agentgym.services.http import serve_http
    from agentgym.services.mcp import mcp_app

    async def session(url: str) -> list[Json]:
        async with Client(f"{url}/mcp") as client:
            answers = []
            for tool, arguments in calls:
                result = await client.call_tool(tool, dict(arguments))
                assert result.is_error == ("error" in result.structured_content)
                answers.append(result.structured_content)
            return answers

    with serve_http(mcp_app(backend)) as url:
        return asyncio.run(session(url))
