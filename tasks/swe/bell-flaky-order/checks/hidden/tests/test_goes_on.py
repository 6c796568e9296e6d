"""The promises of the README on buses that no line of the issue changes."""

import gc
import sys
import weakref

import pytest

from bell import Bus, TopicError


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


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda bus: bus.subscribe("b", print, name="x"), "x: subscribed already"),
        (lambda bus: bus.unsubscribe("y"), "y: not subscribed"),
        (lambda bus: bus.publish("a//b", 1), "'a//b' is not a topic"),
        (lambda bus: bus.publish("a/*", 1), "'a/*' is not a topic"),
        (lambda bus: bus.subscribe("#/a", print, name="y"), "'#/a' is not a pattern"),
        (lambda bus: bus.subscribe("a/", print, name="y"), "'a/' is not a pattern"),
    ],
)
def test_mistakes_are_told_in_the_words_of_before_and_change_nothing(bus, call, told):
    bus.subscribe("a/#", lambda topic, message: None, name="x")
    with pytest.raises(ValueError) as caught:
        call(bus)
    assert str(caught.value) == told and bus.journal() == []
    bus.subscribe("#", lambda topic, message: None, name="y")
    assert bus.publish("a", 1) == 2 and bus.publish("b", 1) == 1


def test_a_topic_that_is_refused_is_not_kept(bus):
    heard = []
    with pytest.raises(TopicError):
        bus.publish("a/#", 1, retain=True)
    bus.publish("a", 0, retain=True)
    bus.publish("b", "", retain=True)
    bus.publish("c", None, retain=True)
    bus.publish("d", 1)
    bus.subscribe("#", lambda topic, message: heard.append((topic, message)), name="x")
    assert heard == [("a", 0), ("b", "")]


@pytest.mark.parametrize(
    ("pattern", "topics"),
    [
        ("#", ["a", "a/b", "a/b/c", "b"]),
        ("a/#", ["a", "a/b", "a/b/c"]),
        ("a/*", ["a/b"]),
        ("*", ["a", "b"]),
        ("*/b/#", ["a/b", "a/b/c"]),
        ("a/*/c", ["a/b/c"]),
        ("a/b", ["a/b"]),
    ],
)
def test_which_topics_a_pattern_stands_for(bus, pattern, topics):
    heard = []
    bus.subscribe(pattern, lambda topic, message: heard.append(topic), name="x")
    counts = [bus.publish(topic, 1, retain=True) for topic in ("a", "a/b", "a/b/c", "b")]
    assert heard == topics and sum(counts) == len(topics)
    later = []
    bus.subscribe(pattern, lambda topic, message: later.append(topic), name="y")
    assert later == topics


def test_messages_within_messages(bus):
    def first(topic, message):
        heard.append(("first", topic))
        if topic == "a":
            bus.publish("b", message)

    heard = []
    bus.subscribe("#", first, name="first")
    bus.subscribe("#", lambda topic, message: heard.append(("second", topic)), name="second")
    bus.publish("a", 1)
    assert heard == [("first", "a"), ("first", "b"), ("second", "b"), ("second", "a")]
    assert bus.journal() == ["a -> first, second", "b -> first, second"]


def test_retained_messages_have_lines_of_their_own_in_the_journal(bus):
    bus.publish("a", 1, retain=True)
    bus.publish("b", 2, retain=True)
    bus.subscribe("#", lambda topic, message: 1 // 0, name="x")
    assert bus.journal() == ["a -> nobody", "b -> nobody", "a -> x", "b -> x"]
    assert [name for name, _ in bus.errors] == ["x", "x"]


def test_what_the_journal_returns_is_the_callers(bus):
    bus.publish("a", 1)
    bus.journal().clear()
    lines = bus.journal()
    bus.publish("b", 1)
    assert lines == ["a -> nobody"] and len(bus.journal()) == 2


def test_who_leaves_or_comes_meanwhile_makes_no_difference_to_a_message(bus):
    def leave(topic, message):
        bus.unsubscribe("late")
        bus.subscribe("#", lambda topic, message: heard.append("new"), name="new")

    heard = []
    bus.subscribe("#", leave, name="soon")
    bus.subscribe("#", lambda topic, message: heard.append("late"), name="late")
    assert bus.publish("a", 1) == 2
    assert heard == ["late"] and bus.journal() == ["a -> soon, late"]
