"""The right program is stopped, its log is put away, and the others run without a break."""

from __future__ import annotations

import gzip
import io
import json
import re
import zlib
from typing import Any

from agentgym import CheckResult, Evidence
from agentgym.verify.values import result

MOST_BYTES = 48 * 2**20
MOST_INI = 64 * 2**10
MOST_LINE = 400
START = re.compile(rb"^\d{7} unit \d+ started in session (\d{1,20})$", re.MULTILINE)


def stopped(evidence: Evidence, work: str) -> CheckResult:
    """The collecting program of the unit does not run any more, and those of others do."""
    case = _case(evidence)
    running = _running(evidence, work)
    wild = f"collect.py {case['unit']}"
    if wild in running:
        return result(False, f"{wild} still runs")
    return result(bool(running), f"{wild} does not run, {len(running)} other programs do")


def compressed(evidence: Evidence, work: str) -> CheckResult:
    """The log is compressed in its place, with all the lines that the unit has written."""
    case, folder = _case(evidence), f"/home/user/{work}/data"
    path = f"{folder}/{case['log']}"
    if evidence.after.stat(path) is not None:
        return result(False, f"{path} is still there")
    packed = evidence.after.read(f"{path}.gz", max_bytes=MOST_BYTES)
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
            text = file.read(MOST_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        return result(False, f"{path}.gz: {error}")
    if gap := _gap(text, evidence.before.read(path, max_bytes=MOST_BYTES)):
        return result(False, f"{path}.gz: {gap}")
    state = evidence.after.read(f"/home/user/{work}/state/{case['unit']}.json")
    told = re.search(rb'"last": ?(\d{1,9})\b', state)
    wanted = int(told[1]) if told else 0
    seen = _last(text)
    return result(seen >= wanted > 0, f"{seen} lines, the program has written {wanted}")


def parts_gone(evidence: Evidence, work: str) -> CheckResult:
    """No file that ends in .part is left in the folder of the log."""
    case, folder = _case(evidence), f"/home/user/{work}/data"
    mine = case["log"].split("/")[0]
    left = [name for name in evidence.after.list(f"{folder}/{mine}") if name.endswith(".part")]
    return result(not left, f"{mine}: {len(left)} files end in .part")


def switched_off(evidence: Evidence, work: str) -> CheckResult:
    """The unit is not enabled any more."""
    seen = _sections(evidence.after.read(f"/home/user/{work}/units.ini", max_bytes=MOST_INI))
    told = seen.get(f"[unit {_case(evidence)['unit']}]", {}).get("enabled", "")
    return result(told.lower() in ("no", "false", "off", "0"), f"enabled = {told}")


def others_run(evidence: Evidence, work: str) -> CheckResult:
    """Every other program runs, and has done so without a break since the desktop started."""
    case, running = _case(evidence), _running(evidence, work)
    wanted = {f"collect.py {unit}" for unit in case["others"]}
    wanted |= {f"export.py {unit}" for unit in case["exported"]}
    if missing := sorted(wanted - running.keys()):
        return result(False, f"not running any more: {', '.join(missing)}")
    if twice := [name for name in wanted if running[name] > 1]:
        return result(False, f"started once more: {', '.join(sorted(twice))}")
    folder = f"/home/user/{work}"
    for path in case["others"].values():
        before = evidence.before.read(f"{folder}/data/{path}", max_bytes=MOST_BYTES)
        after = evidence.after.read(f"{folder}/data/{path}", max_bytes=MOST_BYTES)
        if gap := _gap(after, before):
            return result(False, f"{path}: {gap}")
        if not _without_break(after[len(before) :]):
            return result(False, f"{path}: its program was started anew")
    for unit in case["exported"]:
        path = f"{folder}/state/export-{unit}.log"
        if not _without_break(evidence.after.read(path, max_bytes=MOST_BYTES)):
            return result(False, f"{path}: its program was started anew")
    return result(True, f"{len(wanted)} programs run without a break")


def rest_kept(evidence: Evidence, work: str) -> CheckResult:
    """The other files that end in .part are there, and units.ini differs in one line only."""
    case, folder = _case(evidence), f"/home/user/{work}"
    mine = case["log"].split("/")[0]
    for path in case["parts"]:
        full = f"{folder}/data/{path}"
        if path.split("/")[0] != mine and evidence.after.read(full) != evidence.before.read(full):
            return result(False, f"{path} was changed")
    before, after = (
        _sections(tree.read(f"{folder}/units.ini", max_bytes=MOST_INI))
        for tree in (evidence.before, evidence.after)
    )
    own = f"[unit {case['unit']}]"
    for sections in (before, after):
        sections.get(own, {}).pop("enabled", None)
    return result(before == after, f"the rest of units.ini is as it was: {before == after}")


def _case(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evidence.gold("case.json"))
    return found


def _running(evidence: Evidence, work: str) -> dict[str, int]:
    """Return the programs of the units that run, such as "collect.py 14", with their number."""
    folder, found = f"/home/user/{work}/", dict[str, int]()
    for process in evidence.processes:
        # Whoever starts one by hand may be in its folder.
        words = [word.removeprefix(folder).removeprefix("./") for word in process.argv[-2:]]
        if len(process.argv) == 3 and words[0] in ("collect.py", "export.py"):
            name = " ".join(words)
            found[name] = found.get(name, 0) + 1
    return found


def _sections(data: bytes) -> dict[str, dict[str, str]]:
    """Return the settings of units.ini by section; blanks around them do not count."""
    found, section = {"": dict[str, str]()}, ""
    for line in data.decode("utf-8", "replace").splitlines():
        text = line.strip()
        if text.startswith("["):
            section = text
            found[section] = {}
        elif text and not text.startswith((";", "#")):
            name, _, value = text.partition("=")
            found[section][name.strip()] = value.strip()
    return found


def _gap(text: bytes, before: bytes) -> str:
    """Return where a log does not go on as it began, its lines numbered; empty if it does."""
    if not text.startswith(before):
        return "it does not begin with the lines that it had"
    number = _last(before)
    for line in text[len(before) :].splitlines():
        number += 1
        if not line.startswith(b"%07d unit " % number):
            return f"line {number} is missing, or not as the program writes it"
    return ""


def _last(text: bytes) -> int:
    """Return the number of the last line of a log."""
    found = re.findall(rb"^\d{7}", text[-MOST_LINE:], re.MULTILINE)
    return int(found[-1]) if found else 0


def _without_break(text: bytes) -> bool:
    """Return whether a program has started once in each session of the desktop."""
    sessions = START.findall(text)
    return bool(sessions) and len(sessions) == len(set(sessions))
