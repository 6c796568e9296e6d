"""The pack `office`: documents that are bombs or no documents are fails, in time."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import evidence
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import load_checks, load_pack

pytest.importorskip("openpyxl")
pytest.importorskip("docx")
FOLDER = Path(__file__).parents[2] / "verifiers" / "office"
PACK, SAMPLES = load_pack(FOLDER), load_checks(FOLDER / "samples.py")
BOOK: Any = SAMPLES["workbook"]([["a", 1]])  # type: ignore[arg-type]
LETTER: Any = SAMPLES["document"]([["", "hi"]])  # type: ignore[arg-type]
SHEET, BODY = "xl/worksheets/sheet1.xml", "word/document.xml"


def run(check: str, data: bytes, **arguments: Any) -> CheckResult:
    try:
        found = PACK.checks[check](evidence({"/f": data}), path="/f", **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(found, CheckResult)
    return found


def changed(data: bytes, member: str, old: bytes, new: bytes) -> bytes:
    """Return a document with some bytes of a member replaced."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(stream, "w", 8) as target:
        for name in source.namelist():
            text = source.read(name)
            assert name != member or old in text
            target.writestr(name, text.replace(old, new, 1) if name == member else text)
    return stream.getvalue()


LAUGHS = b"<!DOCTYPE x [<!ENTITY a '" + b"ha" * 5_000 + b"'>"
LAUGHS += b"".join(b"<!ENTITY b%d '%s'>" % (i, b"&a;" * 2_000) for i in range(20)) + b"]>"
CELL = {"sheet": "Data", "at": "A1", "rows": [["b"]]}
HOSTILE: dict[str, tuple[str, bytes | Callable[[], bytes], dict[str, Any]]] = {
    "a merge of every cell": (
        "cells",
        changed(BOOK, SHEET, b"</sheetData>",
                b'</sheetData><mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'),
        CELL,
    ),
    "a member of zeros": (
        "cells", lambda: changed(BOOK, SHEET, b"<sheetData>", b" " * 2**29), CELL
    ),
    "entities": ("cells", changed(BOOK, SHEET, b"<worksheet", LAUGHS + b"<worksheet"), CELL),
    "entities in a letter": (
        "document_text",
        changed(LETTER, BODY, b"<w:document", LAUGHS + b"<w:document"),
        {"contains": ["ha"]},
    ),
    "a file of the host's": (
        "document_text",
        changed(changed(LETTER, BODY, b"<w:document",
                        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><w:document'),
                BODY, b">hi<", b">hi &e;<"),
        {"contains": ["root:"]},
    ),
    "no sheet of that name": ("cells", BOOK, {**CELL, "sheet": "Other"}),
    "a letter for a workbook": ("sheets", LETTER, {"names": ["Data"]}),
    "a workbook for a letter": ("headings", BOOK, {"headings": []}),
    "half of it": ("sheets", BOOK[: len(BOOK) // 2], {"names": ["Data"]}),
}  # fmt: skip


@pytest.mark.timeout(90)
@pytest.mark.parametrize(
    ("check", "data", "arguments"),
    [
        # It runs into the limit on processor time.
        pytest.param(*case, id=name, marks=[pytest.mark.full] * (name == "a merge of every cell"))
        for name, case in HOSTILE.items()
    ],
)
def test_hostile_documents_are_fails_in_time(
    check: str, data: bytes | Callable[[], bytes], arguments: dict[str, Any]
) -> None:
    found = run(check, data() if callable(data) else data, **arguments)
    assert found.status is CheckStatus.FAIL, found
    assert len(found.message) < 700


@pytest.mark.parametrize(
    ("check", "arguments", "says"),
    [
        ("sheets", {"names": "Data"}, "names"),
        ("cells", {"sheet": "D", "at": "B2:A1", "rows": []}, "at: expected a range"),
        ("cells", {"sheet": "D", "at": "A:A", "rows": []}, "at: expected a range"),
        ("cells", {"sheet": "D", "at": "A1:ZZ99999", "rows": []}, "at: expected a range"),
        ("cells", {"sheet": "D", "at": "A1:B2", "rows": [[1, 2]]}, "2 rows of 2 cells"),
        ("formulas", {"sheet": "D", "formulas": {"4B": "=1"}}, "formulas"),
        ("style", {"sheet": "D", "at": "A1", "style": {"bold": 1}}, "style.bold"),
        ("style", {"sheet": "D", "at": "A1", "style": {"size": 1}}, "style.size"),
        ("document_text", {}, "contains, lacks or both"),
        ("headings", {"headings": ["Goals"]}, "headings"),
        ("cells", {"sheet": "D", "at": "A1", "rows": [[1]], "gold": "g"}, "either rows or gold"),
        ("rest_kept", {"but": {"Data": "A1"}}, "but.Data"),
        ("rest_kept", {"but": {"Data": ["A:A"]}}, "expected a range"),
        ("charts", {"sheet": "D", "charts": [{"kind": "pie"}]}, "expected parts of"),
        ("paragraphs", {}, "either paragraphs or gold"),
        ("paragraphs", {"paragraphs": [["Title"]]}, "expected text or"),
        ("document_table", {"rows": ["a"]}, "rows of cells"),
        ("tracked_changes", {"changes": ["Ada"]}, "expected .author, text."),
    ],
)
def test_mistakes_of_the_author_are_found_before_any_episode(
    check: str, arguments: Mapping[str, Any], says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        dry_run(f"office.{check}", PACK.checks[check], {"path": "/f", **arguments})


def test_a_sheet_that_claims_every_cell_is_not_walked_through() -> None:
    far = changed(BOOK, SHEET, b"</sheetData>", b'<row r="1048576"><c r="XFD1048576"><v>1</v></c>'
                  b"</row></sheetData>")  # fmt: skip
    check = PACK.checks["rest_kept"]
    with pytest.raises(GuestFileError, match="too many cells"):
        check(evidence({"/f": far}, before={"/f": BOOK}), path="/f", but={})
