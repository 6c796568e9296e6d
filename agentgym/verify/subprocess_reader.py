"""Read hostile files in a separate process with limits on time and memory.

An agent can craft a database, a picture or an office document that makes its parser hang, exhaust
memory or crash. A reader is a module of a pack with ``answer(order, folder)``. It runs in its own
process, and any failure of that process counts as the agent's.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentgym.errors import GuestFileError
from agentgym.records import Json
from agentgym.scratch import scratch_folder

_BOOT = """
import json, resource, runpy, sys
memory, seconds = int(sys.argv[2]), int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
resource.setrlimit(resource.RLIMIT_FSIZE, (memory, memory))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
reader = runpy.run_path(sys.argv[1])
try:
    answer = {"answer": reader["answer"](json.load(sys.stdin), sys.argv[4])}
except BaseException as error:
    answer = {"fault": f"{type(error).__name__}: {error}"[:500]}
json.dump(answer, sys.stdout)
"""
_MEMORY_BYTES = 2**30
_ANSWER_BYTES = 16 * 2**20
_KEPT_BYTES = 2**20
_MOST_KEPT = 8
_kept: dict[bytes, bytes] = {}
"""The last answers of up to 1 MiB. Checks of a rubric often ask the same of the same file."""
_keeping = threading.Lock()
_STRETCH = 3
"""Longest wall time over processor time: a file is not to blame for a busy machine."""


def ask(
    reader: Path,
    order: Mapping[str, Json],
    files: Mapping[str, bytes],
    *,
    what: str,
    timeout_s: float = 10.0,
) -> Any:
    """Return the answer of a reader about some files.

    Args:
        reader: The module.
        order: The question.
        files: Contents by name; they lie in the folder that is passed to the reader.
        what: Description of the files, for messages.
        timeout_s: Time limit of the reader, in seconds of the processor; the wall time may be three
            times as long.

    Raises:
        GuestFileError: The reader raised, crashed, took too long or too much memory, or
            answered more than 16 MiB; or the question is nested too deeply.
        ValueError: A name is not the name of a file in a folder.
    """
    for name in files:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise ValueError(f"expected the name of a file, got {name!r}")
    try:
        asked = json.dumps(order).encode()
    except RecursionError:
        raise GuestFileError(f"{what}: what was read for it is nested too deeply") from None
    key = _digest(reader, asked, files)
    text = _kept.get(key)
    if text is None:
        text = _answer_of(reader, asked, files, what, timeout_s)
        if len(text) <= _KEPT_BYTES:
            with _keeping:
                while len(_kept) >= _MOST_KEPT:
                    del _kept[next(iter(_kept))]
                _kept[key] = text
    return json.loads(text)


def _digest(reader: Path, asked: bytes, files: Mapping[str, bytes]) -> bytes:
    whole = hashlib.sha256(str(reader).encode())
    for name, data in (("", asked), ("", reader.read_bytes()), *files.items()):
        whole.update(f"\0{name}\0{len(data)}\0".encode())
        whole.update(data)
    return whole.digest()


def _answer_of(
    reader: Path, asked: bytes, files: Mapping[str, bytes], what: str, timeout_s: float
) -> bytes:
    """Return the answer of a reader as JSON; see `ask`."""
    with scratch_folder("reader") as folder:
        for name, data in files.items():
            Path(folder, name).write_bytes(data)
        limits = [str(_MEMORY_BYTES), str(int(timeout_s) + 1)]
        argv = [sys.executable, "-IB", "-c", _BOOT, str(reader), *limits, folder]
        with tempfile.TemporaryFile() as told:  # a pipe would fill this process's memory
            try:
                done = subprocess.run(
                    argv,
                    # Started threads would wait for work, and count for both limits.
                    env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
                    input=asked,
                    stdout=told,
                    stderr=subprocess.DEVNULL,
                    timeout=_STRETCH * timeout_s,
                )
            except subprocess.TimeoutExpired:
                limit_s = _STRETCH * timeout_s
                raise GuestFileError(f"{what}: reading it took more than {limit_s:g} s") from None
            size = told.seek(0, os.SEEK_END)
            told.seek(0)
            text = told.read() if size <= _ANSWER_BYTES else b""
    if done.returncode == -signal.SIGXCPU:
        raise GuestFileError(f"{what}: reading it took more than {timeout_s:g} s")
    if done.returncode != 0:
        raise GuestFileError(f"{what}: its reader ended with exit code {done.returncode}")
    try:
        answer = json.loads(text)
    except ValueError:
        raise GuestFileError(f"{what}: its reader gave no answer, or too long a one") from None
    if "fault" in answer:
        raise GuestFileError(f"{what}: {answer['fault']}")
    return json.dumps(answer["answer"]).encode()
