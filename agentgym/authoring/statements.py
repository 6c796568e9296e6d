"""Finds where statements of a shell script end by asking ``bash -n``; it executes nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence

_PARSE_S = 10.0
_HERE_DOCUMENT = re.compile(r"delimited by end-of-file \(wanted `(.+)'\)")
_UNFINISHED = ("unexpected end of file", "unexpected EOF", "delimited by end-of-file")


def boundaries(lines: Sequence[str]) -> list[int]:
    """Return the numbers of lines after which a script can be cut, its end excluded.

    A script is not cut after lines that do nothing (comments, exports of parameters). The result
    is empty if this machine has no bash.
    """
    said = [number for number, line in enumerate(lines, start=1) if _is_said(line)]
    if shutil.which("bash") is None or not said:
        return []
    found: list[int] = []
    begin, wanted = 0, ""
    for number in said[:-1]:
        # The lines of a here-document, which may be thousands, are no statements.
        if wanted and lines[number - 1].strip() != wanted:
            continue
        # What was complete parses without what stands before it.
        complaint = _complaint("".join(lines[begin:number]))
        # bash only warns about a here-document that was cut, so the code reads its messages.
        cut = _HERE_DOCUMENT.search(complaint)
        wanted = cut[1] if cut else ""
        if not complaint:
            found.append(number)
            begin = number
    return found


def is_unfinished(script: str) -> bool:
    """Return whether more lines must follow: a quote, a loop or a here-document is open."""
    if script.endswith("\\\n"):
        return True
    if shutil.which("bash") is None:
        return False
    complaint = _complaint(script)
    return any(words in complaint for words in _UNFINISHED)


def _is_said(line: str) -> bool:
    text = line.strip()
    quiet = not text or text.startswith(("#", "export PARAM_", "export AGENTGYM_PARAMS", "set -"))
    return not quiet and not text.endswith("\\")


def _complaint(script: str) -> str:
    done = subprocess.run(
        ["bash", "-n"],
        input=script.encode("utf-8", "surrogateescape"),
        capture_output=True,
        timeout=_PARSE_S,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
    )
    said = done.stderr.decode("utf-8", "replace")
    return said or ("it does not parse" if done.returncode else "")
