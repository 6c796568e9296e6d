"""What a call of a service may cost: counted, watched, and undone where it is too much."""

import multiprocessing
import subprocess
import sys
import threading
import time

import pytest
from office_calls import OFFICE, ask

from agentgym.services import Backend, Service, ServiceSet, load_services, reads, writes
from agentgym.services.arguments import search_words
from agentgym.services.budget import LIMITS, WATCHDOG, CallLimits, OverBudgetError

ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"


class Greedy(Service):
    """A service whose tools cost what they are told to."""

    schema = "CREATE TABLE greedy_mark (id INTEGER PRIMARY KEY, text TEXT NOT NULL)"

    @writes
    def count(self, operations: int) -> int:
        """Report operations.

        Args:
            operations: How many.
        """
        self.db.insert("greedy_mark", text="counted")
        self.spend(operations)
        return operations

    @writes
    def query(self) -> int:
        """Ask the database for what has no end."""
        self.db.insert("greedy_mark", text="asked")
        return self.db.value(ENDLESS)

    @writes
    def spin(self, stubborn: bool = False) -> int:
        """Compute without end.

        Args:
            stubborn: Whether to go on after any error.
        """
        self.db.insert("greedy_mark", text="spun")
        turns = 0
        while True:
            try:
                turns += 1
            except Exception:
                if not stubborn:
                    raise

    @writes
    def keep(self, text: str) -> int:
        """Keep a text.

        Args:
            text: What to keep.
        """
        return self.db.insert("greedy_mark", text=text)

    @reads
    def fill_memory(self) -> int:
        """Take memory without end."""
        kept = []
        while True:
            kept.append(b"x" * 2**20)
            time.sleep(0.001)

    @reads
    def wait(self) -> None:
        """Wait without end."""
        while True:
            time.sleep(0.01)

    @reads
    def shout(self, size: int) -> str:
        """Return a long text.

        Args:
            size: How long.
        """
        return "x" * size


SMALL = CallLimits(
    operations=1_000,
    sql_steps=200_000,
    result_bytes=10_000,
    cpu_s=1.0,
    wall_s=60.0,
    memory_bytes=64 * 2**20,
)


@pytest.fixture
def greedy():
    backend = Backend(ServiceSet({"greedy": Greedy}, SMALL))
    yield backend
    backend.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("count", {"operations": 1_001}, "more than 1,000 operations"),
        ("query", {}, "more than 200,000 steps in the database"),
        ("spin", {}, "more than 1 s of processor time"),
        ("spin", {"stubborn": True}, "more than 1 s of processor time"),
        ("fill_memory", {}, "more than 67,108,864 bytes of memory"),
        ("shout", {"size": 20_000}, "a result of 20,002 bytes, more than 10,000"),
    ],
)
def test_a_call_over_its_budget_is_refused_and_undone(greedy, tool, arguments, told):
    before = greedy.hash
    error = greedy.call(f"greedy_{tool}", arguments).error
    assert (error.code, error.message) == (
        "invalid",
        f"the call costs {told}; nothing was changed. Ask for less at a time",
    )
    assert greedy.hash == before and not greedy.state.rows.all("SELECT * FROM greedy_mark")
    assert [entry.code for entry in greedy.audit] == ["invalid"]
    # The next call has a budget of its own.
    assert ask(greedy, "greedy_count", operations=1_000) == 1_000


def test_a_call_that_waits_is_ended_too():
    backend = Backend(ServiceSet({"greedy": Greedy}, CallLimits(wall_s=0.2)))
    assert "costs more than 0.2 s;" in backend.call("greedy_wait", {}).error.message
    backend.close()


def test_the_world_and_a_setup_have_no_budget(greedy):
    assert ask(greedy, "greedy_count", "setup", operations=10**9) == 10**9
    assert len(ask(greedy, "greedy_shout", "world", size=20_000)) == 20_000
    assert greedy.call("greedy_count", {"operations": 10**9}, "user").error.code == "invalid"


def test_callers_on_other_threads_are_left_alone(greedy):
    other = Backend(ServiceSet({"greedy": Greedy}, SMALL))
    made = []

    def work():
        while len(made) < 200 or not ended.is_set():
            made.append(other.call("greedy_count", {"operations": 1}).error)

    ended = threading.Event()
    worker = threading.Thread(target=work)
    worker.start()
    assert greedy.call("greedy_spin", {}).error.code == "invalid"
    ended.set()
    worker.join()
    other.close()
    assert set(made) == {None}


def test_nothing_is_raised_after_a_call_has_left():
    strict = CallLimits(cpu_s=-1.0)
    for _ in range(200):
        watched = WATCHDOG.watch(strict, lambda: None)
        struck = threading.Thread(target=strike, args=(watched, threading.get_ident()))
        try:
            struck.start()
            struck.join()
        except OverBudgetError:
            struck.join()
        WATCHDOG.leave(watched)
        assert watched.over
    assert sum(range(1_000)) == 499_500


def strike(watched, thread):
    """Look twice, as the watchdog does; the second look ends the call."""
    watched.look(thread)
    watched.look(thread)


@pytest.fixture(scope="module")
def start():
    """The office before anything has happened in it."""
    services = load_services(OFFICE)
    return services, services.template(1)


def test_sheets_are_bounded_by_the_cells_that_their_formulas_look_at(start):
    backend = Backend(*start)
    book = ask(backend, "sheets_create_workbook", name="x", sheets=["S"])["id"]

    def write(cell, rows):
        return {"workbook": book, "sheet": "S", "start": cell, "rows": rows}

    ask(backend, "sheets_write_range", **write("ZZ10000", [[1]]))
    ask(backend, "sheets_write_range", **write("A1", [[2]] * 100))
    where = {"workbook": book, "sheet": "S"}
    assert ask(backend, "sheets_evaluate", **where, formula="=SUM(A1:A10000)") == 200
    before = backend.hash
    for tool, arguments in (
        ("sheets_evaluate", {**where, "formula": "=SUM(A1:ZZ10000)"}),
        ("sheets_evaluate", {**where, "formula": "=" + "+".join(["SUM(A1:Z9999)"] * 60)}),
        ("sheets_write_range", write("C1", [["=SUM(A$1:B$10000)"] * 20] * 30)),
    ):
        error = backend.call(tool, arguments).error
        assert "more than 1,000,000 operations" in error.message, tool
    assert backend.hash == before
    backend.close()


def test_what_an_office_needs_is_far_below_the_budget(start):
    backend = Backend(*start)
    book = ask(backend, "sheets_create_workbook", name="x", sheets=["S"])["id"]
    rows = [[n, f"=A{n}*2", f"=SUM(A$1:B{n})"] for n in range(1, 101)]
    for first in range(1, 301, 100):
        ask(
            backend,
            "sheets_write_range",
            workbook=book,
            sheet="S",
            start=f"A{first}",
            rows=rows,
        )
    assert backend.budget.limits == LIMITS
    backend.close()


def test_a_search_has_so_many_words_and_characters(start):
    assert search_words("a b " * 10) == ["a", "b"] * 10
    backend = Backend(*start)
    for text in ("a " * 21, "a" * 1_001):
        error = backend.call("mail_search", {"text": text}).error
        assert (error.code, error.field) == ("invalid", "text")
    backend.close()


def test_a_state_can_only_grow_so_far():
    services = ServiceSet({"greedy": Greedy}, CallLimits(state_bytes=2**20))
    backend = Backend(services)
    errors = [backend.call("greedy_keep", {"text": "x" * 100_000}).error for _ in range(12)]
    assert errors[0] is None and errors[-1].code == "conflict"
    assert errors[-1].message == "there is no room for more: the services hold 1,048,576 bytes"
    fork = backend.fork()
    assert fork.call("greedy_keep", {"text": "x" * 100_000}).error.code == "conflict"
    assert ask(fork, "greedy_count", operations=1) == 1
    fork.close()
    backend.close()


def test_an_audit_keeps_so_much_of_what_was_said(monkeypatch):
    monkeypatch.setattr("agentgym.services.audit.KEPT", 100_000)
    backend = Backend(ServiceSet({"greedy": Greedy}))
    for _ in range(4):
        ask(backend, "greedy_keep", text="x" * 40_000)
    sizes = [len(entry.arguments_json) for entry in backend.audit]
    assert sizes[:2] == [40_012] * 2 and sizes[-1] < 2_000
    assert '"characters": 40012' in backend.audit[3].arguments_json
    backend.close()


def fork_and_spin(pipe):
    backend = Backend(ServiceSet({"greedy": Greedy}, SMALL))
    pipe.send(backend.call("greedy_spin", {}).error.code)


def test_a_forked_process_is_watched_too(greedy):
    assert greedy.call("greedy_spin", {}).error.code == "invalid"
    ours, theirs = multiprocessing.Pipe()
    forked = multiprocessing.get_context("fork").Process(target=fork_and_spin, args=(theirs,))
    forked.start()
    assert ours.poll(30) and ours.recv() == "invalid"
    forked.join(30)


_PROFILED = """
import sys, threading, time
from dataclasses import replace
from agentgym.services.budget import LIMITS, WATCHDOG

limits = replace(LIMITS, wall_s=0.05)

def ends_late():
    watched = WATCHDOG.watch(limits, lambda: None)
    try:
        try:
            while True:
                time.sleep(0)
        finally:
            WATCHDOG.leave(watched)
    except BaseException:
        WATCHDOG.leave(watched)

def never_ends():
    WATCHDOG.watch(limits, lambda: None)
    threading.Event().wait()

def abandoned():
    waiting = threading.Thread(target=never_ends, daemon=True)
    waiting.start()
    time.sleep(0.5)
    WATCHDOG.abandon(waiting.ident)

{case}()
sys.setprofile(lambda *event: None)
ends = (lambda: "it goes on")()
sys.setprofile(None)
print(ends)
"""


@pytest.mark.parametrize("case", ["ends_late", "abandoned"])
def test_a_process_can_be_profiled_after_a_call_was_ended(case):
    told = subprocess.run(
        [sys.executable, "-c", _PROFILED.format(case=case)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert told.stdout == "it goes on\n", told.stderr
