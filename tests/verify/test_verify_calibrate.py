"""Calibration: what is counted, what is a surprise, and what the cases may say."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from folder_provider import FolderProvider

from agentgym.errors import VerifierError
from agentgym.records import CheckStatus, Recipe
from agentgym.verify.calibration.cases import load_cases
from agentgym.verify.calibration.rates import Rate, calibrate, tally, wilson
from agentgym.verify.rubric.dry_run import dry_run

CHECKS = """
from agentgym import CheckResult, CheckStatus, VerifierError

def holds(evidence, path: str, text: str) -> bool:
    if not text:
        raise VerifierError("text: expected some")
    return text in evidence.after.read(path).decode()

def runs(evidence, path: str) -> bool:
    return evidence.room([path]).run(["/bin/sh", path]).exit_code == 0

def broken(evidence) -> bool:
    raise KeyError(evidence.task)
"""
SAMPLES = """
def shout(text: str) -> bytes:
    return text.upper().encode()

def folder(names: list) -> dict:
    return {name: name for name in names}
"""
CASES = """
schema_version = "agentgym.calibration/1"
[[case]]
name = "right"
use = "demo.holds"
with = { path = "/f", text = "A" }
expect = "pass"
after = { "/f" = { sample = "shout", with = { text = "a" } } }
[[case]]
name = "missing"
use = "demo.holds"
with = { path = "/f", text = "x" }
expect = "fail"
before = { "/f" = "x" }
after = { "/f" = { absent = true } }
[[case]]
name = "hidden in a longer word"
use = "demo.holds"
with = { path = "/f", text = "x" }
expect = "fail"
limit = "it looks no further"
before = { "/f" = "xy", "/g" = { folder = true }, "/h" = { link = "/f" } }
[[case]]
name = "below a sample"
use = "demo.holds"
with = { path = "/d/sub/n", text = "sub/n" }
expect = "pass"
after = { "/d" = { sample = "folder", with = { names = ["sub/n"] } } }
"""
PACK = """
schema_version = "agentgym.pack/1"
name = "demo"
version = "1.2.3"
summary = "s"
"""


def write(root: Path, cases: str = CASES) -> Path:
    folder = root / "verifiers" / "demo"
    folder.mkdir(parents=True)
    files = {"pack.toml": PACK, "checks.py": CHECKS, "samples.py": SAMPLES}
    for name, text in {**files, "calibration.toml": cases}.items():
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    return tmp_path


async def test_announced_mistakes_are_counted_and_no_surprise(demo: Path) -> None:
    pack, outcomes = await calibrate(write(demo), FolderProvider(), Recipe("r"))  # type: ignore[arg-type]
    assert [o.agrees for o in outcomes] == [True, True, False, True]
    assert not any(o.surprising for o in outcomes)
    holds = {t.use: t for t in tally(pack, outcomes)}["demo.holds"]
    assert holds.version == "1.2.3"
    assert (holds.false_positives, holds.false_negatives) == (Rate(1, 2), Rate(0, 2))
    published = holds.to_json()["false_positives"]
    assert isinstance(published, dict) and published["rate"] == 0.5


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        (('expect = "pass"', 'expect = "fail"'), CheckStatus.PASS),
        (('limit = "it looks no further"', ""), CheckStatus.PASS),
        (('name = "missing"', 'name = "missing"\nlimit = "never fails"'), CheckStatus.FAIL),
    ],
)
async def test_what_nobody_announced_is_a_surprise(
    demo: Path, changed: tuple[str, str], status: CheckStatus
) -> None:
    folder = write(demo, CASES.replace(*changed, 1))
    _, outcomes = await calibrate(folder, FolderProvider(), Recipe("r"))  # type: ignore[arg-type]
    assert [o.result.status for o in outcomes if o.surprising] == [status]


async def test_an_error_is_a_surprise_whatever_was_announced(demo: Path) -> None:
    case = '[[case]]\nname = "n"\nuse = "demo.broken"\nexpect = "fail"\nlimit = "l"\n'
    folder = write(demo, 'schema_version = "agentgym.calibration/1"\n' + case)
    _, (outcome,) = await calibrate(folder, FolderProvider(), Recipe("r"))  # type: ignore[arg-type]
    assert outcome.surprising and "KeyError" in outcome.result.message


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (('"demo.holds"', '"files.exists"'), "case 'right' uses 'files.exists'"),
        (('"shout"', '"whisper"'), "samples.py has no 'whisper'"),
        (("absent = true", 'absent = true, text = "x"'), "exactly one of"),
        (('text = "A"', 'text = ""'), "text: expected some"),
        (('text = "A"', 'text = "A", more = 1'), "unexpected keyword argument 'more'"),
    ],
)
async def test_broken_cases_are_the_authors_mistake(
    demo: Path, changed: tuple[str, str], says: str
) -> None:
    folder = write(demo, CASES.replace(*changed, 1))
    with pytest.raises(VerifierError, match=says):
        await calibrate(folder, FolderProvider(), Recipe("r"))  # type: ignore[arg-type]


def test_after_is_before_with_changes(demo: Path) -> None:
    _, cases = load_cases(write(demo))
    seen = cases[2].evidence
    assert seen.after.read("/h") == b"xy" and seen.changes == []
    assert [change.path for change in cases[1].evidence.changes] == ["/f"]


@pytest.mark.parametrize(
    ("wrong", "cases", "low", "high"),
    # Newcombe 1998 (Statistics in Medicine 17), table I, Wilson without continuity correction.
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_wilsons(wrong: int, cases: int, low: float, high: float) -> None:
    found = wilson(wrong, cases)
    assert math.isclose(found[0], low, abs_tol=5e-5) and math.isclose(found[1], high, abs_tol=5e-5)
    assert wilson(cases - wrong, cases) == pytest.approx((1 - found[1], 1 - found[0]))


@pytest.mark.parametrize(("wrong", "cases"), [(0, 0), (-1, 3), (4, 3)])
def test_no_interval_without_cases(wrong: int, cases: int) -> None:
    with pytest.raises(ValueError, match="needs 0 <= wrong"):
        wilson(wrong, cases)


def test_a_dry_run_ends_where_the_evidence_begins() -> None:
    seen = []

    def check(evidence, count: int) -> bool:  # type: ignore[no-untyped-def]
        seen.append(count + 1)
        return bool(evidence.answer)

    dry_run("demo.check", check, {"count": 1})
    assert seen == [2]
    with pytest.raises(VerifierError, match="demo.check.*cannot take its arguments: TypeError"):
        dry_run("demo.check", check, {"count": "1"})
