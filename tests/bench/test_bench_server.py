"""The load for servers speaks the protocol, and the bench measures a real server."""

import json

from agentgym.bench.load import frame_of
from agentgym.bench.series import Figures
from agentgym.bench.server import VARIABLE, figures_of_servers, measure_servers


def test_a_frame_is_that_of_the_standard():
    frame = frame_of({"type": "state", "call": 1})
    assert frame[0] == 0x81 and frame[1] == 0x80 | len(frame[6:])
    assert json.loads(frame[6:]) == {"type": "state", "call": 1}
    long = frame_of({"text": "x" * 300})
    assert long[1] == 0x80 | 126 and int.from_bytes(long[2:4], "big") == len(long[8:])


def test_a_server_is_measured(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    figures = Figures(*figures_of_servers())
    measure_servers(figures, rounds=1, steps=5)
    assert figures["server.steps_per_s"].value > 0
    assert figures["server.memory_mb"].value > 10
    assert [figure.key for figure in figures.all] == ["server.steps_per_s", "server.memory_mb"]
