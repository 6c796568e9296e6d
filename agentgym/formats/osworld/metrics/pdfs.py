"""Metrics of PDF files."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path

from agentgym.formats.osworld.metrics.matching import Rule, one_space, similarity


def text_of(path: Path) -> str:
    """Return the text of a PDF file, each run of white space as one space."""
    from pypdf import PdfReader

    return one_space(" ".join(page.extract_text() for page in PdfReader(path).pages))


def check_pdf_pages(result: Path | None, rules: Rule) -> float:
    """The number of pages compares so with a value."""
    if result is None:
        return 0.0
    from pypdf import PdfReader

    compare = getattr(operator, rules["relation"])
    return float(compare(len(PdfReader(result).pages), rules["ref_value"]))


def compare_pdfs(
    result: Path | Sequence[Path | None] | None, expected: Path | Sequence[Path]
) -> float:
    """The likeness of the texts of two files; of several files, the mean."""
    seen = [result] if result is None or isinstance(result, Path) else list(result)
    wanted = [expected] if isinstance(expected, Path) else list(expected)
    pairs = zip(seen, wanted, strict=False)
    scores = [0.0 if one is None else similarity(text_of(one), text_of(two)) for one, two in pairs]
    return sum(scores) / len(wanted)
