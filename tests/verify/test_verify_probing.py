"""Probes: whatever the agent's code does to them, the answer is the probe's or none."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from agentgym import GuestFileError
from agentgym.records import ExecResult
from agentgym.verify.probing import probe

PROBE = """
import subprocess
def answer(order):
    done = subprocess.run(["/bin/sh", "-c", order["script"]], capture_output=True)
    exec(order.get("within", ""))
    return done.stdout.decode()
"""


class Room:
    """A room without walls: commands run here, its files are below a folder."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: str = "/",
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        timeout_s: float = 30.0,
    ) -> ExecResult:
        here = [f"{self.top}{word}" if word.startswith("/tmp/") else word for word in argv]
        try:
            done = subprocess.run(here, input=stdin, capture_output=True, timeout=timeout_s)
        except subprocess.TimeoutExpired:
            return ExecResult(124, b"", timed_out=True)
        return ExecResult(done.returncode, done.stdout, done.stderr)

    def read(self, path: str) -> bytes:
        return Path(f"{self.top}{path}").read_bytes()

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        Path(f"{self.top}{path}").write_bytes(data)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    (tmp_path / "tmp").mkdir()
    return Room(tmp_path)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "probe.py"
    path.write_text(PROBE)
    return path


def test_the_answer_comes_back(room: Room, program: Path) -> None:
    assert probe(room, program, {"script": "echo yes"}, what="/x") == "yes\n"


def test_what_the_agents_code_prints_goes_nowhere(room: Room, program: Path) -> None:
    order = {"script": "echo yes", "within": "print('{}')\nimport sys\nsys.stdout.flush()"}
    assert probe(room, program, order, what="/x") == "yes\n"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("kill -9 $PPID", "ended with"),
        ('echo \'{"nonce": "", "answer": 1}\' > /proc/$PPID/fd/1; kill -9 $PPID', "ended with"),
    ],
)
def test_who_ends_the_probe_has_no_answer(
    room: Room, program: Path, script: str, says: str
) -> None:
    with pytest.raises(GuestFileError, match=says):
        probe(room, program, {"script": script}, what="/x")


@pytest.mark.parametrize(
    ("within", "says"),
    [
        ("raise KeyError('x')", "KeyError"),
        ("import os\nos._exit(0)", "not a complete answer"),
        ("import os\nos.write(3, b'{\"answer\": 1}')\nos._exit(0)", "not the probe's"),
        ("while True: pass", "more than 1 s"),
    ],
)
def test_an_answer_without_the_nonce_is_none(
    room: Room, program: Path, within: str, says: str
) -> None:
    with pytest.raises(GuestFileError, match=says):
        probe(
            room,
            program,
            {"script": "", "within": within},
            what="/x",
            timeout_s=1.0 if "while" in within else 20.0,
        )
