"""Checks of mail-attachments: which attachments were saved, and under which names."""

from __future__ import annotations

import hashlib
import json
import re

from agentgym import CheckResult, Evidence
from agentgym.verify.values import result

_FILE_BYTES = 2**20
_MOST_FILES = 40
_MAIL = re.compile(r"/home/user/Mail/[^/]{1,80}/\d{1,9}")


def saved(evidence: Evidence, folder: str) -> CheckResult:
    """The files in a folder are the right attachments, under any names.

    Channel: state.
    """
    wanted, found = _wanted(evidence), _files(evidence, folder)
    good = len(set(wanted.values()) & set(found.values()))
    message = f"{folder}: {len(found)} files, {good} of the {len(wanted)} right ones"
    return result(sorted(found.values()) == sorted(wanted.values()), message)


def named(evidence: Evidence, folder: str) -> CheckResult:
    """Each file in a folder has the number of its invoice as its name.

    Channel: state.
    """
    wanted, found = _wanted(evidence), _files(evidence, folder)
    wrong = sorted(name for name in wanted if wanted[name] != found.get(name))
    return result(not wrong, f"{folder}: missing or wrong: {', '.join(wrong) or 'none'}")


def no_mail_written(evidence: Evidence) -> CheckResult:
    """No mail was written, neither a draft nor one that waits to be sent.

    Channel: state.
    """
    written = [
        change.path
        for change in evidence.changes
        if change.kind == "added" and _MAIL.fullmatch(change.path)
    ]
    return result(not written, f"mails that were not there before: {written[:3]}")


def _wanted(evidence: Evidence) -> dict[str, str]:
    invoices: dict[str, str] = json.loads(evidence.gold("invoices.json"))
    return invoices


def _files(evidence: Evidence, folder: str) -> dict[str, str]:
    """Return the digests of the files in a folder by their names."""
    tree = evidence.after
    return {
        name: hashlib.sha256(tree.read(f"{folder}/{name}", max_bytes=_FILE_BYTES)).hexdigest()
        for name in list(tree.list(folder))[:_MOST_FILES]
    }
