"""The promises of the README on buses that no line of the issue changes."""

import gc
import sys
import weakref

import pytest

from bell import Bus


@pytest.fixture
def bus():
    return Bus()


def test_the_journal_has_all_messages(bus):
    bus.subscribe("#", lambda topic, message: None, name="log")
    for number in range(3000):
        bus.publish(f"a/{number}", 1)
    assert bus.journal() == [f"a/{number} -> log" for number in range(3000)]


def test_each_error_is_kept(bus):
    def broken(topic, message):
        raise KeyError(message)

    bus.subscribe("#", broken, name="a")
    bus.subscribe("#", broken, name="b", priority=1)
    assert [bus.publish("t", number) for number in (1, 2)] == [2, 2]
    assert [(name, error.args) for name, error in bus.errors] == [("b", (1,)), ("a", (1,)), ("b", (2,)), ("a", (2,))]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_process_is_no_error_of_a_subscriber(bus, kind):
    def ends(topic, message):
        raise kind

    bus.subscribe("#", ends, name="a")
    with pytest.raises(kind):
        bus.publish("t", 1)
    assert bus.errors == []


def test_who_subscribes_while_a_message_is_delivered_gets_it_retained(bus):
    heard = []

    def join(topic, message):
        bus.subscribe("b/#", lambda topic, message: heard.append(message), name=f"panel-{message}")

    bus.subscribe("b/x", join, name="join")
    bus.publish("b/x", "old", retain=True)
    assert heard == ["old"]
    bus.publish("b/x", "new", retain=True)
    assert heard == ["old", "new", "new"]


def test_a_message_is_kept_although_a_subscriber_raises(bus):
    def broken(topic, message):
        raise KeyError(topic)

    heard = []
    bus.subscribe("#", broken, name="a")
    bus.publish("t", 1, retain=True)
    bus.subscribe("t", lambda topic, message: heard.append((topic, message)), name="b")
    assert heard == [("t", 1)]


def test_who_has_left_is_forgotten(bus):
    class Name(str):
        pass

    names = [Name(f"n{number}") for number in range(50)]
    left = [weakref.ref(name) for name in names]
    for name in names:
        bus.subscribe("lamps/hall", lambda topic, message: None, name=name)
    for name in names:
        bus.unsubscribe(name)
    del names, name
    gc.collect()
    assert not [each for each in left if each() is not None]


def steps(call):
    """Return how many instructions a call takes."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        frame.f_trace_opcodes = True
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def test_publishing_takes_as_long_with_many_retained_messages():
    def effort(size):
        bus = Bus()
        for number in range(size):
            bus.publish(f"lamps/{number}", number, retain=True)
        return steps(lambda: [bus.publish("lamps/3", 1, retain=True), bus.publish("lamps/4", None, retain=True)])

    assert effort(2000) < 3 * effort(20)


def test_a_name_is_free_again_and_unknown_names_are_refused(bus):
    bus.subscribe("a", lambda topic, message: None, name="x")
    with pytest.raises(ValueError):
        bus.subscribe("b", lambda topic, message: None, name="x")
    bus.unsubscribe("x")
    bus.subscribe("b", lambda topic, message: None, name="x")
    with pytest.raises(ValueError):
        bus.unsubscribe("y")
    assert (bus.publish("a", 1), bus.publish("b", 1)) == (0, 1)
    assert bus.journal() == ["a -> nobody", "b -> x"]
