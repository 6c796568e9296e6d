"""Faults depend on the seed and the number of the call, and on nothing that happened besides."""

import doctest
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentgym.env import clock
from agentgym.env.fault import Faults, InjectedFault, is_injected
from agentgym.records import Effect, Observation
from agentgym.task.dynamics import FaultManifest

TASK = "demo/flaky-v1"
TOOLS = ("bash", "read_file", "write_file")

rates = st.floats(0.01, 1.0)
seeds = st.integers(0, 2**63 - 1)


def drawn(id="noise", tool="bash", kind="garbled", **fields):
    table = {"id": id, "tool": tool, "kind": kind, **fields}
    return FaultManifest.model_validate_json(json.dumps(table))


def struck(faults, tool, count, seed, others=()):
    """Which calls of a tool are struck, with calls of other tools in between."""
    world, found, others = Faults(TASK, faults, seed), [], list(others)
    for call in range(1, count + 1):
        while others and len(others) > count - call:
            world.next_call(others.pop())
        injected = world.next_call(tool)
        if injected is not None:
            found.append((call, injected.fault.id))
    return found


@given(seeds, rates, st.lists(st.sampled_from(TOOLS[1:]), max_size=30))
@settings(max_examples=60, deadline=None)
def test_other_calls_other_faults_and_their_order_change_nothing(seed, rate, others):
    mine = drawn(rate=rate)
    theirs = drawn(id="other", tool="read_file", rate=0.5)
    alone = struck([mine], "bash", 20, seed)
    assert struck([mine], "bash", 20, seed, others) == alone
    assert struck([theirs, mine], "bash", 20, seed, others) == alone
    assert [call for call, _ in alone] == [
        n for n in range(1, 21) if is_injected(TASK, mine, n, seed)
    ]


@given(seeds, rates, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_at_most_keeps_the_first_of_what_is_drawn(seed, rate, at_most):
    unbounded = struck([drawn(rate=rate)], "bash", 40, seed)
    assert struck([drawn(rate=rate, at_most=at_most)], "bash", 40, seed) == unbounded[:at_most]


def test_a_rate_is_kept_and_differs_with_seed_fault_tool_and_task():
    def calls(seed=1, task=TASK, **fields):
        one = drawn(rate=0.25, **fields)
        return {call for call in range(1, 2001) if is_injected(task, one, call, seed)}

    first = calls()
    # Five standard deviations of a fair draw: 2000 * 0.25 +- 97.
    assert 400 < len(first) < 600
    for other in (calls(seed=2), calls(task="demo/x-v1"), calls(id="x"), calls(tool="read_file")):
        # Independent draws share about a quarter of a quarter.
        assert len(first & other) < 0.5 * len(first)


def test_calls_are_struck_as_they_are_numbered():
    assert struck([drawn(calls=(2, 5))], "bash", 8, 0) == [(2, "noise"), (5, "noise")]


def test_the_earlier_fault_in_the_file_strikes():
    both = [drawn(id="first", calls=(2,)), drawn(id="second", calls=(1, 2))]
    assert struck(both, "bash", 3, 0) == [(1, "second"), (2, "first")]


@given(seeds, st.text(max_size=300), st.integers(1, 100))
@settings(max_examples=100, deadline=None)
def test_what_is_garbled_has_its_length_and_is_always_the_same(seed, text, call):
    true = Observation(text, data={"exit_code": 0}, effect=Effect.CHANGED)
    seen = InjectedFault(drawn(rate=1.0), call, seed, TASK).answer(true)
    again = InjectedFault(drawn(rate=1.0), call, seed, TASK).answer(true)
    assert seen.text == again.text and seen.text
    assert len(seen.text) == (len(text) or 8)
    assert (seen.effect, dict(seen.data)) == (Effect.CHANGED, {})


@given(seeds, st.text(min_size=10, max_size=300))
@settings(max_examples=60, deadline=None)
def test_what_is_partial_is_a_beginning(seed, text):
    injected = InjectedFault(drawn(kind="partial", rate=1.0), 1, seed, TASK)
    seen = injected.answer(Observation(text)).text
    assert text.startswith(seen) and 0.2 * len(text) - 1 <= len(seen) <= 0.8 * len(text)


def test_garbling_alters_most_texts_visibly():
    text = "total 12\n" * 40
    seen = InjectedFault(drawn(rate=1.0), 1, 7, TASK).answer(Observation(text)).text
    different = sum(a != b for a, b in zip(text, seen, strict=True))
    assert 0.1 * len(text) < different < 0.3 * len(text)


def test_the_examples_in_the_documentation():
    assert doctest.testmod(clock) == (0, 4)
