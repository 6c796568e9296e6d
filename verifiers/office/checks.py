"""Check pack `office`: contents of office documents.

Channel: state (the final files, read from outside). A process with limits reads workbooks (xlsx,
xlsm), documents (docx) and presentations (pptx); it computes nothing, runs no macro and follows no
link. OpenDocument formats are not read, because no library for them is as well maintained. More
than 16 MiB is a fail.
"""

from __future__ import annotations

from .documents import (
    document_table,
    document_text,
    headings,
    paragraphs,
    styles_kept,
    tracked_changes,
    weights_kept,
)
from .presentations import slide, slide_titles
from .workbooks import cells, charts, formulas, rest_kept, sheets, style

__all__ = [
    "cells",
    "charts",
    "document_table",
    "document_text",
    "formulas",
    "headings",
    "paragraphs",
    "rest_kept",
    "sheets",
    "slide",
    "slide_titles",
    "style",
    "styles_kept",
    "tracked_changes",
    "weights_kept",
]
