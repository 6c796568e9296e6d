"""Forged evidence finds checks that raise, hang or eat memory, and passes those that do not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym.task.model import Instance, Task
from agentgym.testing.checks import evidence
from agentgym.verify.calibration.cases import Case, load_cases
from agentgym.verify.calibration.rates import TASK, rubric_of
from agentgym.verify.worker.host import Answers
from agentgym.verify.worker.runner import CheckRunner

VERIFIERS = Path(__file__).parents[2] / "verifiers"
PACKS = sorted(path.parent.name for path in VERIFIERS.glob("*/calibration.toml"))
TREE = {"/srv/n.json": '{"n": [1, "two"]}', "/srv/t.csv": "a,1\nb,2\n"}
RUBRIC = 'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "case"\nuse = "checks.c"\n'


def forged(folder: Path, seen: object, rubric: str, module: str = "") -> Iterator[tuple[str, str]]:
    checks = folder / "checks"
    checks.mkdir()
    (checks / "rubric.toml").write_text(rubric)
    (checks / "checks.py").write_text(module)
    with CheckRunner(Instance(Task(TASK.id, folder, TASK, ""), 0, {}, "")) as runner:
        runner.open()
        runner.see(seen)  # type: ignore[arg-type]
        yield from runner.forge("case", Answers(seen), programs=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("body", "name", "says"),
    [
        ("json.loads(e.after.read('/srv/n.json'))['n'][0]", "/srv/n.json: [", "TypeError"),
        ("json.loads(e.after.read('/srv/n.json'))", "deep lists", "RecursionError"),
        ("min(r.split(',')[1] for r in text(e).split())", "blanks", "ValueError"),
        pytest.param(
            *("re.match('(a|a)*b', text(e)[:40])", "one huge line", "too much processor time"),
            marks=pytest.mark.full,  # reaches the limit of processor time twice
        ),
        ("bytearray(300 * len(text(e)))", "one huge line", "MemoryError"),
        ("int(e.answer)", "the answer: no UTF-8", "ValueError"),
        ("e.processes[0]", "no processes", "IndexError"),
        ("json.loads(e.room().run(['x']).stdout or b'0')", "a program prints: blanks", "JSON"),
        ("os.abort() if e.after.stat('/srv/t.csv').kind == 'dir' else 0", "dir", "SIGABRT"),
    ],
)
def test_a_check_that_breaks_is_told_with_what_broke_it(
    tmp_path: Path, body: str, name: str, says: str
) -> None:
    module = f"""
import json, os, re
def text(e):
    return e.after.read("/srv/t.csv").decode("latin-1")
def c(e):
    {body}
    return True
"""
    seen = evidence(TREE, TREE, answer="7", processes=[object()])  # type: ignore[list-item]
    seen.processes = ["one"]  # type: ignore[list-item]
    found = list(forged(tmp_path, seen, RUBRIC, module))
    assert any(name in forgery and says in what for forgery, what in found), found


@pytest.mark.parametrize(
    ("pattern", "slow"),
    [
        (r"^(\w+\s*)+$", True),
        pytest.param(r"(a*)*b", True, marks=pytest.mark.full),  # runs into the same limit
        (r"^total: +\d+$", False),
        (r"\s+$", False),
    ],
)
def test_a_pattern_that_takes_too_long_is_told(tmp_path: Path, pattern: str, slow: bool) -> None:
    module = f"""
import re
P = re.compile({pattern!r})
def c(e):
    return P.search("total") is None
"""
    found = list(forged(tmp_path, evidence({}), RUBRIC, module))
    assert bool(found) is slow
    assert all("characters in its pattern" in name for name, _ in found)


def test_a_sound_check_is_told_nothing_of(tmp_path: Path) -> None:
    module = """
from agentgym.verify.documents import parse
def c(e):
    found = parse(e.after.read("/srv/n.json"), "json", "n")
    return isinstance(found, dict) and found.get("n") == [1, "two"] and e.answer == "7"
"""
    assert list(forged(tmp_path, evidence(TREE, TREE, answer="7"), RUBRIC, module)) == []


def _by_check(pack: str) -> list[Case]:
    cases: dict[str, Case] = {}
    for case in load_cases(VERIFIERS / pack)[1]:
        if case.expect == "pass":
            cases.setdefault(case.use, case)
    return list(cases.values())


@pytest.mark.parametrize("pack", ["files", "answers"])
def test_no_check_of_a_pack_breaks_on_forged_evidence(pack: str, tmp_path: Path) -> None:
    _none_breaks(pack, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("pack", [pack for pack in PACKS if pack not in ("files", "answers")])
def test_no_check_of_the_other_packs_breaks_on_forged_evidence(pack: str, tmp_path: Path) -> None:
    _none_breaks(pack, tmp_path)


def _none_breaks(pack: str, tmp_path: Path) -> None:
    found = []
    for number, case in enumerate(_by_check(pack)):
        folder = tmp_path / str(number)
        folder.mkdir()
        found += [(case.use, *one) for one in forged(folder, case.evidence, rubric_of(case))]
    assert found == []
