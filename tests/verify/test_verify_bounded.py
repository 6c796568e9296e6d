"""Readers in a process with bounds: however they end, it is the agent's doing, and in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import GuestFileError
from agentgym.verify import subprocess_reader
from agentgym.verify.subprocess_reader import ask

READER = """
import os
def answer(order, folder):
    with open(os.path.join(folder, "f"), "rb") as file:
        data = file.read()
    exec(order["do"])
    return [len(data), order["do"]]
"""


@pytest.fixture
def reader(tmp_path: Path) -> Path:
    path = tmp_path / "reader.py"
    path.write_text(READER)
    return path


def test_an_answer_comes_back(reader: Path) -> None:
    assert ask(reader, {"do": "pass"}, {"f": b"abc"}, what="/f") == [3, "pass"]


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("do", "says"),
    [
        ("raise KeyError('x')", "/f: KeyError: 'x'"),
        ("raise SystemExit(0)", "/f: SystemExit: 0"),
        ("os._exit(0)", "gave no answer"),
        ("os.kill(os.getpid(), 11)", "ended with exit code -11"),
        ("b'x' * 2**31", "MemoryError"),
        ("print('{')", "gave no answer"),
        ("[0] * 10**9", "MemoryError"),
        ("f = lambda: f()\nf()", "/f: "),
        ("order['do'] = 'x' * 2**25", "too long a one"),
        ("while True: pass", "more than [13] s"),  # of the processor, or of a busy machine
    ],
)
def test_every_bad_end_is_a_fail(reader: Path, do: str, says: str) -> None:
    with pytest.raises(GuestFileError, match=says):
        ask(reader, {"do": do}, {"f": b""}, what="/f", timeout_s=1.0 if "while" in do else 10.0)


def test_a_busy_machine_is_not_the_agents_doing(
    reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = {"do": "import time; time.sleep(1.2)"}
    with monkeypatch.context() as patch:
        patch.setattr(subprocess_reader, "_STRETCH", 60)  # Python itself starts slowly there.
        assert ask(reader, slow, {"f": b""}, what="/f", timeout_s=1.0) == [0, slow["do"]]
    with pytest.raises(GuestFileError, match="more than 3 s"):
        ask(reader, {"do": "import time; time.sleep(60)"}, {"f": b""}, what="/f", timeout_s=1.0)


def test_the_same_question_about_the_same_file_is_read_once(reader: Path, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    order = {"do": f"open({str(noted)!r}, 'a').write('x')"}
    answer = ask(reader, order, {"f": b"abc"}, what="/f")
    answer.append("changed by a check")
    assert ask(reader, order, {"f": b"abc"}, what="/f") == answer[:2]
    assert noted.read_text() == "x"
    ask(reader, order, {"f": b"abd"}, what="/f")
    ask(reader, {"do": order["do"] + "; 1"}, {"f": b"abc"}, what="/f")
    assert noted.read_text() == "xxx"
    broken = {"do": f"open({str(noted)!r}, 'a').write('y'); raise KeyError"}
    for _ in range(2):
        with pytest.raises(GuestFileError):
            ask(reader, broken, {"f": b"abc"}, what="/f")
    assert noted.read_text() == "xxxyy"
