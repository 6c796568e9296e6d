"""Probes: programs of the grader's that use the agent's product inside a clean room.

A probe is a module of a task or a pack with ``answer(order)``. It starts before any program of the
agent's and is protected from what it then runs or imports: its memory and descriptors are closed to
other processes (prctl(2), PR_SET_DUMPABLE), and standard output leads to /dev/null. The answer
carries a nonce that only the probe knows, and it counts only if the probe ends with exit code 0.
The expected answer stays on the host, in the check that asks.
"""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

from agentgym.errors import GuestFileError
from agentgym.protocols import Room
from agentgym.records import Json

_BOOT = """
import ctypes, json, os, runpy, sys
if ctypes.CDLL(None).prctl(4, 0, 0, 0, 0):
    sys.exit("prctl failed")
told, order = os.dup(1), json.load(sys.stdin)
nowhere = os.open("/dev/null", os.O_RDWR)
os.dup2(nowhere, 0)
os.dup2(nowhere, 1)
answer = runpy.run_path(sys.argv[1])["answer"]
sys.meta_path.clear()  # what is imported from here on could be the agent's
said = json.dumps({"nonce": order["nonce"], "answer": answer(order["order"])})
with os.fdopen(told, "w") as out:
    out.write(said)
"""
PATIENCE_S = 240.0
"""Wall time of a probe, in seconds. Only one that hangs takes so long, on a busy machine too."""
_PATH = "/tmp/probe.py"
_PYTHON = "/usr/bin/python3"
# One nonce for this process, so that rooms with the same question can use a cached answer.
_NONCE = secrets.token_hex(16)


def probe(
    room: Room, program: Path, order: Json, *, what: str, timeout_s: float = PATIENCE_S
) -> Any:
    """Return the answer of a probe in a room.

    Args:
        room: Holds the agent's product; the probe is written to ``/tmp/probe.py``.
        program: The probe.
        order: The question; it goes into the room, so it must not contain the expected answer.
        what: The subject of the probe, for messages.
        timeout_s: Time limit of the probe, in seconds.

    Raises:
        GuestFileError: The probe raised, was ended by a program it ran, took too long or wrote far
            more than an honest answer needs.
    """
    room.write(_PATH, program.read_bytes())
    stdin = json.dumps({"nonce": _NONCE, "order": order}).encode()
    done = room.run([_PYTHON, "-IS", "-c", _BOOT, _PATH], stdin=stdin, timeout_s=timeout_s)
    if done.timed_out:
        raise GuestFileError(f"{what}: its probe took more than {timeout_s:g} s")
    if done.exit_code != 0:
        last = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise GuestFileError(f"{what}: its probe ended with {done.exit_code}: {last}")
    try:
        said = json.loads(done.stdout)
    except (ValueError, RecursionError):
        size = len(done.stdout) + done.omitted_bytes
        raise GuestFileError(f"{what}: {size} bytes are not a complete answer") from None
    if not isinstance(said, dict) or said.get("nonce") != _NONCE:
        raise GuestFileError(f"{what}: the answer is not the probe's")
    return said["answer"]
