"""Orders do not depend on hashes: with this many names, no luck is left."""

import random

import pytest

from bell import Bus

WORDS = "amber basil cedar dune ember fern gale heath iris juniper kelp larch moss north oak pine".split()
NAMES = [f"{word}-{number}" for number in range(4) for word in WORDS]
PATTERNS = ["lamps/hall/on", "lamps/*/on", "*/hall/on", "#", "lamps/#", "lamps/hall/*"]


@pytest.fixture
def bus():
    bus = Bus()
    bus.heard = []
    bus.listen = lambda name, pattern, priority=0: bus.subscribe(
        pattern, lambda topic, message: bus.heard.append((name, message)), name=name, priority=priority
    )
    return bus


def shuffled(seed):
    names = list(NAMES)
    random.Random(seed).shuffle(names)
    return names


@pytest.mark.parametrize("seed", range(3))
def test_subscribers_are_called_as_they_subscribed(bus, seed):
    names = shuffled(seed)
    for at, name in enumerate(names):
        bus.listen(name, PATTERNS[at % len(PATTERNS)])
    assert bus.publish("lamps/hall/on", 1) == len(names)
    assert [name for name, _ in bus.heard] == names


def test_patterns_make_no_difference(bus):
    for name, pattern in [("z", "#"), ("m", "*/hall"), ("a", "lamps/hall"), ("k", "lamps/#"), ("b", "#")]:
        bus.listen(name, pattern)
    bus.publish("lamps/hall", 1)
    assert [name for name, _ in bus.heard] == ["z", "m", "a", "k", "b"]


def test_priorities_go_before(bus):
    names = shuffled(5)
    for at, name in enumerate(names):
        bus.listen(name, "#", priority=at % 3)
    bus.publish("a", 1)
    wanted = [name for rest in (2, 1, 0) for at, name in enumerate(names) if at % 3 == rest]
    assert [name for name, _ in bus.heard] == wanted


def test_who_subscribes_again_is_last(bus):
    names = shuffled(6)
    for name in names:
        bus.listen(name, "a/b")
    bus.unsubscribe(names[10])
    bus.listen(names[10], "a/*")
    bus.publish("a/b", 1)
    assert [name for name, _ in bus.heard] == [*names[:10], *names[11:], names[10]]


@pytest.mark.parametrize("pattern", ["lamps/#", "#", "*/*"])
def test_retained_messages_come_in_their_order(bus, pattern):
    names = shuffled(7)
    for name in names:
        bus.publish(f"lamps/{name}", name, retain=True)
    bus.listen("panel", pattern)
    assert [message for _, message in bus.heard] == names


def test_a_retained_message_that_replaces_one_is_the_newest(bus):
    names = shuffled(8)
    for name in names:
        bus.publish(f"lamps/{name}", name, retain=True)
    bus.publish(f"lamps/{names[3]}", "again", retain=True)
    bus.publish(f"lamps/{names[5]}", None, retain=True)
    bus.listen("panel", "#")
    left = [name for at, name in enumerate(names) if at not in (3, 5)]
    assert [message for _, message in bus.heard] == [*left, "again"]


def test_the_journal_has_the_order_of_the_calls(bus):
    names = shuffled(9)
    for at, name in enumerate(names):
        bus.listen(name, PATTERNS[at % len(PATTERNS)], priority=at % 2)
    bus.publish("lamps/hall/on", 1)
    (line,) = bus.journal()
    assert line == "lamps/hall/on -> " + ", ".join(name for name, _ in bus.heard)
    assert line.count(",") == len(names) - 1


def test_errors_have_the_order_of_the_calls():
    bus, names = Bus(), shuffled(10)

    def broken(topic, message):
        raise KeyError(topic)

    for at, name in enumerate(names):
        bus.subscribe(PATTERNS[at % len(PATTERNS)], broken, name=name)
    bus.publish("lamps/hall/on", 1)
    assert [name for name, _ in bus.errors] == names


def test_topics_of_other_first_parts_are_not_looked_at(bus):
    """The index is worth having: it stays."""
    for name in NAMES:
        bus.listen(name, f"{name}/#")
    compared = []

    class Part(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str(self) == str(other)

    class Topic(str):
        def split(self, sep=None, maxsplit=-1):
            return [Part(part) for part in str.split(self, sep, maxsplit)]

    assert bus.publish(Topic(f"{NAMES[0]}/x"), 1) == 1
    assert len(compared) < len(NAMES)


def test_a_retained_message_that_equals_the_one_before_is_the_newest(bus):
    for topic in ("lamps/a", "lamps/b", "lamps/a"):
        bus.publish(topic, "on", retain=True)
    topics = []
    bus.subscribe("lamps/*", lambda topic, message: topics.append(topic), name="panel")
    assert topics == ["lamps/b", "lamps/a"]


def test_the_journal_has_the_order_of_the_messages(bus):
    bus.listen("log", "#")
    for topic in ("b", "c/x", "a", "b"):
        bus.publish(topic, 1)
    assert bus.journal() == ["b -> log", "c/x -> log", "a -> log", "b -> log"]


def test_who_leaves_is_found_without_a_look_at_the_others(bus):
    compared = []

    class Part(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            compared.append(other)
            return str(self) == str(other)

    class Pattern(str):
        def split(self, sep=None, maxsplit=-1):
            return [Part(part) for part in str.split(self, sep, maxsplit)]

    for name in NAMES:
        bus.listen(name, Pattern(f"{name}/x"))
    compared.clear()
    bus.unsubscribe(NAMES[5])
    assert len(compared) < len(NAMES) / 2


@pytest.mark.parametrize("gone", [[0], [3, 4, 20], range(12)])
def test_who_comes_after_somebody_left_is_the_last(gone):
    bus, seen = Bus(), []
    for number in range(24):
        bus.subscribe("a/b", lambda topic, message, number=number: seen.append(number), name=f"n{number}")
    for number in gone:
        bus.unsubscribe(f"n{number}")
    for number in range(24, 28):
        bus.subscribe("#", lambda topic, message, number=number: seen.append(number), name=f"n{number}")
    bus.publish("a/b", 1)
    assert seen == [number for number in range(28) if number not in gone]
