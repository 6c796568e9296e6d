"""Timers of states in states, and guards of timers that raise."""

import pytest

from latch import Machine, read_chart

CHAIN = {
    "initial": "shut",
    "states": {
        "shut": {"on": {"open": "open"}},
        "open": {
            "initial": "a",
            "states": {
                "a": {"after": {"1": "b"}},
                "b": {"after": {"1": "c"}},
                "c": {"after": {"1": {"target": "shut", "guard": "may"}}},
            },
        },
    },
}


def machine_of(chart, **functions):
    machine = Machine(read_chart(chart), functions)
    machine.start()
    return machine


def test_a_chain_of_inner_states_is_done_after_one_call():
    machine = machine_of(CHAIN, may=lambda machine, event: True)
    machine.advance(5)
    assert machine.send("open")
    times = []
    machine.watch(lambda machine, event, before, after: times.append((machine.now, after[-1])))
    machine.advance(60)
    assert times == [(6, "open.b"), (7, "open.c"), (8, "shut")]
    assert (machine.states, machine.now, machine.timers) == (("shut",), 60, 0)


def test_a_timer_whose_guard_raises_has_run_out():
    asked = []

    def may(machine, event):
        asked.append(machine.now)
        raise KeyError(event.name)

    machine = machine_of(CHAIN, may=may)
    machine.send("open")
    with pytest.raises(KeyError):
        machine.advance(60)
    assert (machine.states, machine.timers, machine.now) == (("open", "open.c"), 0, 60)
    machine.advance(120)
    assert asked == [3] and machine.states == ("open", "open.c")


def test_a_timer_whose_guard_does_not_hold_has_run_out():
    machine = machine_of(CHAIN, may=lambda machine, event: False)
    machine.send("open")
    machine.advance(60)
    machine.advance(120)
    assert (machine.states, machine.timers) == (("open", "open.c"), 0)


def test_entering_again_begins_the_timers_anew():
    chart = {"initial": "on", "states": {"on": {"after": {"10": "off"}, "on": {"again": "on"}}, "off": {}}}
    machine = machine_of(chart)
    machine.advance(6)
    assert machine.send("again") and machine.timers == 1
    machine.advance(12)
    assert machine.states == ("on",)
    machine.advance(16)
    assert machine.states == ("off",)


def test_asking_changes_nothing():
    machine = machine_of(CHAIN, may=lambda machine, event: True)
    assert machine.can("open") and not machine.can("close")
    assert (machine.states, machine.timers) == (("shut",), 0)
    assert not machine.send("close") and machine.states == ("shut",)
