"""Events wait for the end of a transition, which takes place as a whole or not at all."""

import pytest

from latch import ChartError, Machine, read_chart


class Log(list):
    """Functions by name that note what they see, and then do what a test asked for."""

    def __init__(self):
        self.acts = {}

    def make(self, name):
        def function(machine, event):
            self.append((name, event.name, machine.states))
            act = self.acts.get(name)
            return act(machine, event) if act is not None else True

        return function

    def names(self):
        return [name for name, *_ in self]


@pytest.fixture
def log():
    return Log()


@pytest.fixture
def make(log):
    def make(states, initial="a", start=True):
        chart = read_chart({"initial": initial, "states": states})
        machine = Machine(chart, {name: log.make(name) for name in chart.functions()})
        if start:
            machine.start()
        return machine

    return make


HOUSE = {
    "a": {"entry": "in_a", "exit": "out_a", "on": {"alarm": {"target": "alarm", "action": "ring"}, "lock": {"action": "early"}}},
    "alarm": {
        "entry": "in_alarm",
        "exit": "out_alarm",
        "initial": "siren",
        "on": {"lock": "locked", "hush": {"action": "hush"}},
        "states": {"siren": {"entry": "in_siren", "exit": "out_siren", "after": {"60": "a"}}},
    },
    "locked": {"entry": "in_locked", "on": {"home": "a"}},
}


@pytest.mark.parametrize("name", ["in_alarm", "in_siren", "ring", "out_a"])
def test_an_event_waits_for_the_end_of_the_transition(make, log, name):
    machine = make(HOUSE)
    log.clear()
    answers = []
    log.acts[name] = lambda machine, event: answers.append(machine.send("lock"))
    assert machine.send("alarm") is True
    assert answers == [False]
    assert log.names() == ["out_a", "ring", "in_alarm", "in_siren", "out_siren", "out_alarm", "in_locked"]
    assert machine.states == ("locked",) and machine.timers == 0
    assert log[-1] == ("in_locked", "lock", ("locked",))


def test_events_are_handled_in_the_order_in_which_they_were_sent(make, log):
    steps = {"on": {"go": {"action": "go"}, "x": {"action": "x"}, "y": {"action": "y"}, "z": {"action": "z"}}}
    machine = make({"a": steps})

    def go(machine, event):
        machine.send("x", number=1)
        machine.send("y")
        machine.send("x", number=2)

    log.acts["go"] = go
    log.acts["x"] = lambda machine, event: machine.send("z")
    machine.send("go")
    assert log.names() == ["go", "x", "y", "x", "z", "z"]


def test_a_guard_may_send(make, log):
    machine = make({"a": {"on": {"go": {"target": "b", "guard": "may"}}}, "b": {"on": {"on": "c"}}, "c": {}})
    log.acts["may"] = lambda machine, event: machine.send("on") is False
    assert machine.send("go") is True
    assert machine.states == ("c",)


def test_a_watcher_may_send_and_sees_whole_transitions(make, log):
    machine = make(HOUSE)
    found = []

    def watcher(machine, event, before, after):
        found.append((event.name, before, after, machine.states == after))
        if event.name == "alarm":
            assert machine.send("lock") is False

    log.acts["in_locked"] = lambda machine, event: machine.send("home")
    machine.watch(watcher)
    assert machine.send("alarm") is True
    assert found == [
        ("alarm", ("a",), ("alarm", "alarm.siren"), True),
        ("lock", ("alarm", "alarm.siren"), ("locked",), True),
        ("home", ("locked",), ("a",), True),
    ]


def test_all_watchers_see_a_transition_before_the_next_one(make, log):
    machine = make(HOUSE)
    order = []
    machine.watch(lambda machine, event, before, after: (order.append(("one", event.name)), event.name == "alarm" and machine.send("lock")))
    machine.watch(lambda machine, event, before, after: order.append(("two", event.name)))
    machine.send("alarm")
    assert order == [("one", "alarm"), ("two", "alarm"), ("one", "lock"), ("two", "lock")]


def test_send_answers_for_its_own_event(make, log):
    machine = make({"a": {"on": {"go": {"guard": "no", "target": "b"}, "x": "b"}}, "b": {}})
    log.acts["no"] = lambda machine, event: machine.send("x")
    assert machine.send("go") is False
    assert machine.states == ("b",)
    assert machine.send("x") is False


def test_the_start_is_a_transition(make, log):
    machine = make(HOUSE, start=False)
    log.acts["in_a"] = lambda machine, event: machine.send("alarm")
    found = []
    machine.watch(lambda machine, event, before, after: found.append((event.name, before, after)))
    machine.start()
    assert found[0] == ("start", (), ("a",)) and machine.states == ("alarm", "alarm.siren")
    with pytest.raises(ChartError):
        machine.start()


def test_a_start_that_fails_can_be_tried_again(make, log):
    machine = make(HOUSE, initial="alarm", start=False)
    log.acts["in_siren"] = lambda machine, event: 1 / 0
    with pytest.raises(ZeroDivisionError):
        machine.start()
    assert machine.states == () and machine.timers == 0
    del log.acts["in_siren"]
    machine.start()
    assert machine.states == ("alarm", "alarm.siren")


def fail(machine, event):
    machine.send("home")
    raise KeyError(event.name)


@pytest.mark.parametrize("name", ["out_siren", "out_alarm", "in_locked"])
def test_a_transition_that_fails_did_not_take_place(make, log, name):
    machine = make(HOUSE)
    machine.send("alarm")
    found = []
    machine.watch(lambda *seen: found.append(seen))
    log.acts[name] = fail
    with pytest.raises(KeyError, match="lock"):
        machine.send("lock")
    assert machine.states == ("alarm", "alarm.siren") and found == [] and machine.timers == 1
    assert log.names()[-1] == name, "what it had sent is forgotten"
    log.acts.clear()
    machine.advance(59)
    assert machine.states == ("alarm", "alarm.siren")
    machine.advance(60)
    assert machine.states == ("a",)


def test_a_guard_that_raises(make, log):
    machine = make({"a": {"on": {"go": [{"target": "b", "guard": "broken"}, "c"]}}, "b": {}, "c": {}})
    log.acts["broken"] = fail
    with pytest.raises(KeyError):
        machine.send("go")
    assert machine.states == ("a",)


def test_what_was_waiting_is_handled_and_the_first_error_is_raised(make, log):
    acts = {name: {"action": name} for name in ("go", "x", "y", "z")}
    machine = make({"a": {"on": acts | {"home": {"action": "home"}}}})

    def go(machine, event):
        for name in ("x", "y", "z"):
            machine.send(name)

    log.acts["go"] = go
    log.acts["x"] = fail
    log.acts["z"] = lambda machine, event: 1 / 0
    with pytest.raises(KeyError, match="x"):
        machine.send("go")
    assert log.names() == ["go", "x", "y", "z"]
    log.clear()
    assert machine.send("y") is True and log.names() == ["y"], "no error and no event is left over"


def test_a_watcher_that_raises_undoes_nothing(make, log):
    machine = make(HOUSE)
    found = []

    def broken(machine, event, before, after):
        if event.name == "alarm":
            machine.send("hush")
            raise KeyError(event.name)

    machine.watch(broken)
    machine.watch(lambda machine, event, before, after: found.append(event.name))
    with pytest.raises(KeyError, match="alarm"):
        machine.send("alarm")
    assert machine.states == ("alarm", "alarm.siren") and found[0] == "alarm"
    assert "hush" in log.names()


def test_timers_run_out_in_the_order_of_their_times(make, log):
    machine = make(
        {
            "a": {
                "initial": "i",
                "after": {"5": {"action": "outer5"}, "2": {"action": "outer2"}, "7": {"action": "outer7"}},
                "states": {"i": {"after": {"7": {"action": "inner7"}, "3": {"action": "inner3"}}}},
            }
        }
    )
    times = []
    for name in ("outer5", "outer2", "outer7", "inner7", "inner3"):
        log.acts[name] = lambda machine, event: times.append(machine.now)
    machine.advance(60)
    assert log.names() == ["outer2", "inner3", "outer5", "outer7", "inner7"]
    assert times == [2, 3, 5, 7, 7] and machine.now == 60


def test_a_timer_that_was_left_does_not_fire(make, log):
    machine = make(
        {
            "a": {"after": {"1": {"action": "leave"}, "2": {"target": "c"}}, "on": {"go": "b"}},
            "b": {"after": {"10": {"action": "late"}}},
            "c": {},
        }
    )
    log.acts["leave"] = lambda machine, event: machine.send("go")
    machine.advance(5)
    assert machine.states == ("b",) and machine.timers == 1
    machine.advance(10.9)
    assert "late" not in log.names()
    machine.advance(11)
    assert "late" in log.names()


def test_a_chain_of_timers_ends_in_one_call(make):
    machine = make({"a": {"after": {"1": "b"}}, "b": {"after": {"1": "c"}}, "c": {"after": {"1": "d"}}, "d": {"after": {"60": "a"}}})
    machine.advance(60)
    assert machine.states == ("d",) and machine.now == 60
    machine.advance(62.9)
    assert machine.states == ("d",)
    machine.advance(63)
    assert machine.states == ("a",)


def test_time_never_goes_back(make):
    machine = make({"a": {"after": {"10": "b"}, "on": {"go": "a"}}, "b": {}})
    machine.advance(8)
    machine.advance(3)
    assert machine.now == 8
    machine.send("go")
    machine.advance(17)
    assert machine.states == ("a",)
    machine.advance(18)
    assert machine.states == ("b",)


def test_a_timer_that_fails_has_run_out(make, log):
    machine = make({"a": {"after": {"1": {"target": "b", "action": "broken"}, "2": {"action": "second"}}}, "b": {}})
    log.acts["broken"] = lambda machine, event: 1 / 0
    with pytest.raises(ZeroDivisionError):
        machine.advance(5)
    assert log.names() == ["broken", "second"] and machine.states == ("a",) and machine.now == 5
    machine.advance(50)
    assert log.names() == ["broken", "second"]


def test_a_circle_of_events_ends(make, log):
    machine = make({"a": {"entry": "in_a", "on": {"b": "b"}}, "b": {"entry": "in_b", "on": {"a": "a", "stop": "c"}}, "c": {}})
    log.acts["in_a"] = lambda machine, event: event.name != "start" and machine.send("b")
    log.acts["in_b"] = lambda machine, event: machine.send("a")
    with pytest.raises(ChartError, match="1000"):
        machine.send("b")
    assert 900 < len(log) < 1100 and len(machine.states) == 1
    log.acts.clear()
    log.clear()
    machine.send("a"), machine.send("b")
    assert machine.send("stop") and machine.states == ("c",) and len(log) <= 2


def test_a_circle_of_timers_ends(make):
    machine = make({"a": {"after": {"0": "b"}}, "b": {"after": {"0": "a"}}})
    with pytest.raises(ChartError, match="1000"):
        machine.advance(1)


def test_many_events_are_no_circle(make, log):
    machine = make({"a": {"on": {"count": {"action": "count"}}}})
    log.acts["count"] = lambda machine, event: event.data["left"] and machine.send("count", left=event.data["left"] - 1)
    assert machine.send("count", left=900)
    assert machine.send("count", left=900), "each call counts by itself"
    assert len(log) == 1802


def test_what_waits_at_the_end_of_a_circle_is_forgotten(make, log):
    both = {"x": {"action": "more"}, "y": {"action": "more"}, "stop": {"action": "stop"}}
    machine = make({"a": {"on": both}})
    log.acts["more"] = lambda machine, event: (machine.send("x"), machine.send("y"))
    with pytest.raises(ChartError, match="1000"):
        machine.send("x")
    log.acts.clear()
    log.clear()
    assert machine.send("stop") is True
    assert log.names() == ["stop"], "many events were waiting"


def test_watchers_see_a_state_that_is_entered_again(make):
    machine = make({"a": {"on": {"again": "a"}}})
    found = []
    machine.watch(lambda machine, event, before, after: found.append((event.name, before, after)))
    machine.send("again")
    assert found == [("again", ("a",), ("a",))]


def test_what_a_guard_had_sent_is_forgotten_if_it_raises(make, log):
    machine = make({"a": {"on": {"go": {"target": "b", "guard": "broken"}, "home": {"action": "home"}}}, "b": {}})
    log.acts["broken"] = fail
    with pytest.raises(KeyError):
        machine.send("go")
    assert log.names() == ["broken"]
