import pytest

from bell import Bus, TopicError


@pytest.fixture
def heard():
    return []


@pytest.fixture
def bus(heard):
    bus = Bus()

    def listen(name, pattern, priority=0):
        bus.subscribe(
            pattern,
            lambda topic, message: heard.append((name, topic, message)),
            name=name,
            priority=priority,
        )

    bus.listen = listen
    return bus


def test_patterns(bus, heard):
    bus.listen("one", "orders/*/paid")
    bus.listen("all", "orders/#")
    assert bus.publish("orders/17/paid", 1) == 2
    assert bus.publish("orders/17", 2) == 1
    assert bus.publish("stock/17", 3) == 0
    assert {(name, message) for name, _, message in heard} == {("one", 1), ("all", 1), ("all", 2)}


def test_a_larger_priority_is_called_sooner(bus, heard):
    bus.listen("late", "a/#", priority=-1)
    bus.listen("soon", "#", priority=5)
    bus.publish("a/b", None)
    assert [name for name, _, _ in heard] == ["soon", "late"]


def test_equal_priorities_are_called_in_order(bus, heard):
    bus.listen("receipts", "orders/*/paid")
    bus.listen("stock", "orders/#")
    bus.publish("orders/17/paid", None)
    assert [name for name, _, _ in heard] == ["receipts", "stock"]


def test_retained_messages_come_at_once(bus, heard):
    bus.publish("lamp/hall", "on", retain=True)
    bus.publish("lamp/hall", "off", retain=True)
    bus.publish("lamp/cellar", "on", retain=True)
    bus.publish("lamp/cellar", None, retain=True)
    bus.listen("panel", "lamp/#")
    assert heard == [("panel", "lamp/hall", "off")]


def test_an_error_does_not_stop_the_others(bus, heard):
    def broken(topic, message):
        raise KeyError(topic)

    bus.subscribe("a", broken, name="broken", priority=1)
    bus.listen("other", "a")
    assert bus.publish("a", 1) == 2
    assert [name for name, _ in bus.errors] == ["broken"]
    assert [name for name, _, _ in heard] == ["other"]


def test_the_journal(bus):
    bus.listen("log", "a")
    bus.publish("a", 1)
    bus.publish("b", 1)
    assert bus.journal() == ["a -> log", "b -> nobody"]


def test_a_name_is_used_once(bus):
    bus.listen("log", "a")
    with pytest.raises(ValueError, match="already"):
        bus.listen("log", "b")
    bus.unsubscribe("log")
    bus.listen("log", "b")
    with pytest.raises(ValueError, match="not subscribed"):
        bus.unsubscribe("nobody")


@pytest.mark.parametrize("text", ["", "a//b", "a/#/b", "/a"])
def test_bad_patterns(bus, text):
    with pytest.raises(TopicError):
        bus.listen("x", text)


@pytest.mark.parametrize("text", ["", "a/*", "#", "a/"])
def test_bad_topics(bus, text):
    with pytest.raises(TopicError):
        bus.publish(text, 1)
