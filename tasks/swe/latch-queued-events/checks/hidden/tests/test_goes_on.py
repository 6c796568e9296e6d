"""Timers of states in states, and guards of timers that raise."""

import pytest

from latch import ChartError, Machine, read_chart
from latch.dot import to_dot

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


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ({"initial": "a", "states": {}, "paint": 1, "colour": 1}, "the chart: unknown key 'colour'"),
        ({"initial": "a", "states": {"a": {"onn": {}}}}, "a: unknown key 'onn'"),
        ({"initial": "b", "states": {"a": {}, "c": {}}}, "the chart: initial: expected one of a, c"),
        ({"states": {"a": {}}}, "the chart: initial: expected one of a"),
        ({"initial": "a", "states": {"a": {"states": {"b": {}}}}}, "a: initial: expected one of b"),
        ({"initial": "a", "states": {"a": {"on": {"x": "b"}}}}, "a: no state 'b'"),
        ({"initial": "a", "states": {"a": {"on": {"x": {"target": "a.b"}}}}}, "a: no state 'a.b'"),
        ({"initial": "a", "states": {"a": {"after": {"soon": "a"}}}}, "a: after: 'soon' is no number of seconds"),
        ({"initial": "a.b", "states": {"a.b": {}}}, "the chart: 'a.b' is no name of a state"),
        ({"initial": "", "states": {"": {}}}, "the chart: '' is no name of a state"),
    ],
)
def test_what_is_wrong_with_a_chart_is_said(content, told):
    with pytest.raises(ChartError) as caught:
        read_chart(content)
    assert str(caught.value) == told


def test_what_is_wrong_with_a_machine_is_said():
    content = {"initial": "a", "states": {"a": {"entry": "z", "exit": "b", "on": {"x": [{"guard": "g", "action": "d"}]}}}}
    with pytest.raises(ChartError) as caught:
        Machine(read_chart(content), {"d": print})
    assert str(caught.value) == "missing functions: b, g, z"
    machine = machine_of(CHAIN, may=lambda machine, event: True)
    with pytest.raises(ChartError) as caught:
        machine.start()
    assert str(caught.value) == "the machine has started already"


def test_targets_are_looked_up_from_the_inside():
    inner = {"a": {"on": {"x": "b", "y": "c.b", "z": "d"}}, "b": {}, "c": {"initial": "b", "states": {"b": {"on": {"x": "b"}}}}}
    outer = {"a": {"initial": "a", "states": inner, "on": {"x": "b", "y": "a"}}, "b": {"on": {"x": "a.c.b"}}, "d": {}}
    states = read_chart({"initial": "a", "states": outer}).states
    found = {f"{path} {event}": each[0].target for path, state in states.items() for event, each in state.on.items()}
    assert found == {
        "a x": "a.b",
        "a y": "a.a",
        "a.a x": "a.b",
        "a.a y": "a.c.b",
        "a.a z": "d",
        "a.c.b x": "a.c.b",
        "b x": "a.c.b",
    }


def test_the_first_transition_whose_guard_holds_is_taken_and_outer_ones_last():
    held = {"one": False, "two": False}
    chart = {
        "initial": "a",
        "states": {
            "a": {
                "initial": "i",
                "on": {"x": "outer"},
                "states": {"i": {"on": {"x": [{"guard": "one", "target": "b"}, {"guard": "two", "target": "c"}]}}},
            },
            **{name: {} for name in ("b", "c", "outer")},
        },
    }
    for one, two, end in [(1, 1, "b"), (0, 1, "c"), (0, 0, "outer")]:
        held |= {"one": one, "two": two}
        machine = machine_of(chart, one=lambda m, e: held["one"], two=lambda m, e: held["two"])
        assert machine.can("x") and machine.send("x", a=1) and machine.states == (end,)


def test_functions_get_the_machine_and_the_event():
    seen = []
    chart = {"initial": "a", "states": {"a": {"entry": "f", "on": {"x": {"action": "f"}}, "after": {"2.5": {"action": "f"}}}}}
    machine = machine_of(chart, f=lambda machine, event: seen.append((machine, event.name, dict(event.data))))
    machine.send("x", name=1, key=2)
    assert machine.timers == 1
    machine.advance(2.5)
    assert seen == [(machine, "start", {}), (machine, "x", {"name": 1, "key": 2}), (machine, "after", {})]
    assert machine.timers == 0 and machine.now == 2.5


def test_a_state_may_have_several_timers():
    chart = {"initial": "a", "states": {"a": {"after": {"3": {"action": "f"}, "1": {"action": "f"}, "2": [{"guard": "no", "target": "b"}, {"action": "f"}]}}, "b": {}}}
    seen = []
    machine = machine_of(chart, f=lambda machine, event: seen.append(machine.now), no=lambda machine, event: False)
    assert machine.timers == 3
    machine.advance(2)
    assert (seen, machine.timers) == ([1, 2], 1)
    machine.advance(10)
    assert (seen, machine.timers) == ([1, 2, 3], 0)


def test_a_state_within_that_is_the_target_of_its_parent():
    seen = []
    chart = {
        "initial": "p",
        "states": {
            "p": {
                "entry": "in_p",
                "exit": "out_p",
                "initial": "a",
                "on": {"x": "p.b"},
                "states": {"a": {"exit": "out_a"}, "b": {"entry": "in_b", "initial": "c", "on": {"up": "p"}, "states": {"c": {"entry": "in_c"}}}},
            }
        },
    }
    functions = {name: lambda m, e, name=name: seen.append(name) for name in ("in_p", "out_p", "out_a", "in_b", "in_c")}
    machine = machine_of(chart, **functions)
    seen.clear()
    machine.send("x")
    assert seen == ["out_a", "out_p", "in_p", "in_b", "in_c"] and machine.states == ("p", "p.b", "p.b.c")
    seen.clear()
    machine.send("up")
    assert seen == ["out_p", "in_p"] and machine.states == ("p", "p.a")


def test_graphviz_is_as_before():
    chart = read_chart({**CHAIN, "states": {**CHAIN["states"], "shut": {"on": {"open": "open", "note": {"action": "n"}}, "after": {"9": {"action": "n"}}}}})
    assert to_dot(chart).splitlines() == [
        "digraph chart {",
        "  compound=true;",
        '  "shut" [label="shut"];',
        '  subgraph "cluster_open" {',
        '    label="open";',
        '    "open" [style=invis];',
        '    "open.a" [label="a"];',
        '    "open.b" [label="b"];',
        '    "open.c" [label="c"];',
        "  }",
        '  "shut" -> "open" [label="open"];',
        '  "open.a" -> "open.b" [label="1 s", style=dashed];',
        '  "open.b" -> "open.c" [label="1 s", style=dashed];',
        '  "open.c" -> "shut" [label="1 s", style=dashed];',
        "}",
    ]
    assert to_dot(chart).endswith("}\n")
