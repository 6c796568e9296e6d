"""The pack `pdf`: files that are no PDF, broken or huge are fails, in time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_checks, load_pack

pytest.importorskip("pypdf")
FOLDER = Path(__file__).parents[2] / "verifiers" / "pdf"
PAGES = load_pack(FOLDER).checks["pages"]
MADE: Any = load_checks(FOLDER / "samples.py")["pages"]


@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"%PDF-1.4",
        b"Plan",
        MADE(["Plan"])[:300],  # type: ignore[call-arg]
        MADE(["Plan"] * 201),  # type: ignore[call-arg]
        MADE(["Plan"]).replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]"),  # type: ignore[call-arg]
    ],
    ids=["empty", "a head", "text", "half", "too many pages", "a page tree in itself"],
)
def test_hostile_files_are_fails_in_time(data: bytes) -> None:
    try:
        found = PAGES(evidence({"/f": data}), path="/f", pages=[["Plan"]])
    except GuestFileError:
        return
    assert isinstance(found, CheckResult) and found.status is CheckStatus.FAIL


@pytest.mark.parametrize(
    "given", [{"pages": []}, {"pages": ["Plan"]}, {"pages": [[]], "lacks": "x"}]
)
def test_mistakes_of_the_author_are_found_before_any_episode(given: dict[str, Any]) -> None:
    with pytest.raises(VerifierError, match="pages"):
        dry_run("pdf.pages", PAGES, {"path": "/f", **given})
