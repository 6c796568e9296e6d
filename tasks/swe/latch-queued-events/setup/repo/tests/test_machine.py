import pytest

from latch import ChartError, Machine, read_chart


def test_states_are_entered_to_the_innermost(door):
    assert door.states == ("shut",)
    assert door.send("open", key=7)
    assert door.states == ("open", "open.free")


def test_guards_decide(door, seen):
    assert not door.send("open", key=8) and not door.can("open")
    assert door.can("open", key=7)
    assert door.states == ("shut",) and seen == []


def test_the_order_of_actions(door, seen):
    door.send("open", key=7)
    door.send("block")
    door.send("close")
    assert seen == ["did", "in_open", "out_free", "in_blocked", "out_open", "in_shut"]


def test_a_state_can_be_entered_again(door, seen):
    door.send("open", key=7)
    seen.clear()
    door.send("again")
    assert seen == ["out_free", "out_open", "in_open"]


def test_an_action_without_a_target(door, seen):
    door.send("open", key=7)
    seen.clear()
    assert door.send("note") and seen == ["did"]


def test_timers(door):
    door.advance(5)
    door.send("open", key=7)
    door.advance(34.9)
    assert door.states == ("open", "open.free")
    door.advance(35)
    assert door.states == ("shut",) and door.timers == 0


def test_leaving_a_state_ends_its_timer(door):
    door.send("open", key=7)
    door.send("block")
    door.advance(100)
    assert door.states == ("open", "open.blocked")


def test_watchers(door):
    found = []
    door.watch(lambda machine, event, before, after: found.append((event.name, before, after)))
    door.send("open", key=7)
    door.send("nothing")
    assert found == [("open", ("shut",), ("open", "open.free"))]


def test_functions_must_be_there():
    chart = read_chart({"initial": "a", "states": {"a": {"entry": "missing"}}})
    with pytest.raises(ChartError, match="missing"):
        Machine(chart, {})


def test_a_machine_starts_once(door):
    with pytest.raises(ChartError):
        door.start()
