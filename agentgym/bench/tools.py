"""Measures the cost of services: calls with their audit, resets, forks, and 1,000 live states.

The calls are a fixed mixture over the seeded help desk, three reads to two writes. The audit is
kept in memory and written to a file. Calls a second use the processor time of one core, because
other processes on the machine lengthen the wall time.
"""

from __future__ import annotations

import http.client
import itertools
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from agentgym.bench.series import Figure, Figures
from agentgym.bench.spans import Spans
from agentgym.errors import ServiceError
from agentgym.services import Audit, Backend, ServiceSet, Snapshot, find_services
from agentgym.services.functions import Function
from agentgym.services.hashing import StateHash
from agentgym.services.state import Rows, State

Call: TypeAlias = tuple[str, dict[str, Any]]

_LIVE = 1000
_PARTS = {
    "sql": "statements of the database",
    "json": "arguments and results",
    "audit": "the audit and its file",
    "hash": "the hash of the state",
    "service": "the service's own code",
    "dispatch": "dispatch, checks and budget",
}
"""Parts of a call by the last word of their key."""


async def measure_tools(quick: bool) -> Figures:
    """Measure the services of environment ``office``.

    Args:
        quick: Whether to do fewer repetitions, with a tenth of the live states.
    """
    figures = Figures(
        Figure("inprocess.calls_per_s", "calls a second of one core", "/s", 8000, at_least=True),
        Figure("inprocess.wall_calls_per_s", "  of the clock on the wall", "/s"),
        *(
            Figure(f"inprocess.share.{part}", f"  of it {what}", "%")
            for part, what in _PARTS.items()
        ),
        Figure("http.call_ms.p50", "a call over HTTP", "ms", 2.0),
        Figure("reset_ms.p50", "reset to the first answer", "ms", 5.0),
        Figure("fork_ms.p50", "fork to the first answer", "ms", 5.0),
        Figure("live1000_mb", "1,000 live states", "MB", 4096.0),
    )
    services = find_services("office")
    template = services.template(1)
    # This comes first, before freed memory could hide what the states take.
    figures["live1000_mb"].samples = [_memory(services, template, _LIVE // (10 if quick else 1))]
    _in_process(figures, services, template, quick)
    for part, share in _shares(services, template, 1000 if quick else 5000).items():
        figures[f"inprocess.share.{part}"].samples = [100 * share]
    _starts(figures, services, template, 30 if quick else 200)
    _over_http(figures["http.call_ms.p50"], services, template, 100 if quick else 1000)
    figures.notes.append(
        f"State: {len(template.data) / 1e6:.2f} MB in {len(services.layout.tables)} tables"
        f" of {len(services.classes)} service(s)."
    )
    return figures


def _calls(live: Backend) -> Iterator[Call]:
    """Yield the mixture of calls without end."""
    column = live.state.rows.column
    waiting = column("SELECT id FROM tickets_ticket WHERE status IN ('open', 'pending') ORDER BY 1")
    agents = column("SELECT id FROM tickets_agent WHERE active ORDER BY 1")
    tickets = itertools.cycle(waiting)
    for k in itertools.count():
        yield "tickets_get", {"ticket": next(tickets)}
        yield "tickets_search", {"customer": 1 + k % 100, "status": "open", "limit": 5}
        priority = ("low", "high", "urgent")[k % 3]
        yield "tickets_update", {"ticket": next(tickets), "priority": priority}
        yield "tickets_get_customer", {"customer": 1 + k % 150}
        yield "tickets_assign", {"ticket": next(tickets), "agent": agents[k % len(agents)]}


def _call(live: Backend, calls: Iterator[Call]) -> None:
    reply = live.call(*next(calls))
    if reply.error is not None:
        raise ServiceError("internal", f"bench: a call was refused: {reply.error}")


def _memory(services: ServiceSet, template: Snapshot, count: int) -> float:
    """Return the megabytes of a thousand states after a change in each."""
    before_mb = _resident_mb()
    live = [Backend(services, template) for _ in range(count)]
    for one in live:
        calls = _calls(one)
        for _ in range(20):
            _call(one, calls)
    taken_mb = _resident_mb() - before_mb
    for one in live:
        one.close()
    return taken_mb * _LIVE / count


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


def _in_process(figures: Figures, services: ServiceSet, template: Snapshot, quick: bool) -> None:
    for _ in range(2 if quick else 5):
        with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
            live = Backend(services, template, audit=Audit(Path(folder) / "audit.jsonl"))
            calls, count = _calls(live), 2000 if quick else 10_000
            _call(live, calls)
            started, worked = time.perf_counter(), time.process_time()
            for _ in range(count):
                _call(live, calls)
            worked_s, passed_s = time.process_time() - worked, time.perf_counter() - started
            figures["inprocess.calls_per_s"].samples.append(count / worked_s)
            figures["inprocess.wall_calls_per_s"].samples.append(count / passed_s)
            live.close()


def _shares(services: ServiceSet, template: Snapshot, count: int) -> dict[str, float]:
    """Return the share of each part in the time of calls, from a run whose parts are timed."""
    spans = Spans()
    spans.watch(Backend, "call", "dispatch", root=True)
    spans.watch(Rows, "execute all one value column insert", "sql")
    spans.watch(State, "begin commit rollback patches", "sql")
    spans.watch(Function, "take give", "json")
    spans.watch(Audit, "append bounded bounded_row", "audit")
    spans.watch(StateHash, "compare apply __str__", "hash")
    for function in services.functions.values():
        # The database's time within a tool is not counted for the tool.
        spans.watch(services.classes[function.service], function.method, "service")
    try:
        with tempfile.TemporaryDirectory(prefix="agentgym-bench-") as folder:
            live = Backend(services, template, audit=Audit(Path(folder) / "audit.jsonl"))
            calls = _calls(live)
            for _ in range(count):
                _call(live, calls)
            live.close()
    finally:
        spans.stop()
    whole_s = sum(spans.spent_s.values())
    return {part: spans.spent_s[part] / whole_s for part in _PARTS}


def _starts(figures: Figures, services: ServiceSet, template: Snapshot, times: int) -> None:
    first = Backend(services, template)
    calls = _calls(first)
    for _ in range(200):
        _call(first, calls)
    for _ in range(times):
        for key in ("reset_ms.p50", "fork_ms.p50"):
            started = time.perf_counter()
            live = Backend(services, template) if key.startswith("reset") else first.fork()
            reply = live.call("tickets_get", {"ticket": 1})
            figures[key].samples.append((time.perf_counter() - started) * 1e3)
            assert reply.error is None
            live.close()
    first.close()


def _over_http(figure: Figure, services: ServiceSet, template: Snapshot, times: int) -> None:
    from agentgym.services.http import http_app, serve_http

    live = Backend(services, template)
    calls = _calls(live)
    with serve_http(http_app(live)) as url:
        connection = http.client.HTTPConnection(urlsplit(url).netloc)
        for number in range(times + 10):
            tool, arguments = next(calls)
            started = time.perf_counter()
            connection.request("POST", f"/tools/{tool}", json.dumps(arguments))
            response = connection.getresponse()
            response.read()
            if number >= 10:  # the first ones open the connection and import
                figure.samples.append((time.perf_counter() - started) * 1e3)
            assert response.status == 200
        connection.close()
    live.close()
