import pytest

from latch import Machine, read_chart

DOOR = {
    "initial": "shut",
    "states": {
        "shut": {"entry": "in_shut", "on": {"open": [{"target": "open", "guard": "key", "action": "did"}]}},
        "open": {
            "entry": "in_open",
            "exit": "out_open",
            "initial": "free",
            "on": {"close": "shut", "again": "open", "note": {"action": "did"}},
            "states": {
                "free": {"exit": "out_free", "after": {"30": "shut"}, "on": {"block": "blocked"}},
                "blocked": {"entry": "in_blocked", "on": {"free": "free", "close": {"guard": "never", "target": "shut"}}},
            },
        },
    },
}


@pytest.fixture
def seen():
    return []


@pytest.fixture
def door(seen):
    def note(name):
        return lambda machine, event: seen.append(name)

    names = ["in_shut", "in_open", "out_open", "out_free", "in_blocked", "did"]
    functions = {name: note(name) for name in names}
    functions |= {
        "key": lambda machine, event: event.data.get("key") == 7,
        "never": lambda machine, event: False,
    }
    machine = Machine(read_chart(DOOR), functions)
    machine.start()
    seen.clear()
    return machine
