"""Check pack `pdf`: contents of PDF files.

Channel: state (the final files, read from outside). A process with limits reads the text that a
file holds as text; text in pictures is not recognised, and no script or form is executed. More than
16 MiB or 200 pages is a fail.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.installation import missing_extra
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import brief, result

_READER = Path(__file__).with_name("reader.py")
_PDF_BYTES = 16 * 2**20


def pages(
    evidence: Evidence, path: str, pages: Sequence[Sequence[str]], lacks: Sequence[str] = ()
) -> CheckResult:
    """A PDF has exactly so many pages, and each contains these pieces of text.

    Channel: state. Line ends count as spaces, and several spaces as one. The order of the pieces on
    a page does not count.

    Example:
        use = "pdf.pages"
        with = { path = "/srv/plan.pdf", pages = [["Plan", "Goals"], ["Costs"]] }

    Args:
        evidence: Evidence of the episode.
        path: The file.
        pages: The demanded pieces, page by page; an empty list demands nothing of a page.
        lacks: Pieces that no page may contain.
    """
    if isinstance(lacks, str) or any(isinstance(page, str) for page in pages) or not pages:
        raise VerifierError("pages: expected a list of pieces for each page")
    if importlib.util.find_spec("pypdf") is None:
        raise missing_extra("pypdf", "office")
    data = evidence.after.read(path, max_bytes=_PDF_BYTES)
    seen = ask(_READER, {}, {"file": data}, what=path)
    if len(seen) != len(pages):
        return result(False, f"{path}: has {len(seen)} pages, expected {len(pages)}")
    for number, (text, pieces) in enumerate(zip(seen, pages, strict=True), 1):
        for piece in pieces:
            if " ".join(piece.split()) not in text:
                return result(False, f"{path}: page {number} lacks {brief(piece)}")
        for piece in lacks:
            if piece in text:
                return result(False, f"{path}: page {number} holds {brief(piece)}")
    return result(True, f"{path}: {len(seen)} pages as expected")
