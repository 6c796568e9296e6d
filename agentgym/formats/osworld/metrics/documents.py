"""Metrics of Writer's documents: docx, and the text of odt."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from agentgym.formats.osworld.metrics.matching import Rule, one_space, similarity

_WORD: Final = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_ODT_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_MOST_XML: Final = 32 * 2**20
_SAME: Final = 0.9
"""Likeness from which texts count as the same where metrics compare something else."""


def _document(path: Path) -> Any:
    from docx import Document

    return Document(str(path))


def _paragraphs(path: Path) -> list[str]:
    """Return the texts of the paragraphs of a docx or odt file."""
    if path.suffix != ".odt":
        return [one.text for one in _document(path).paragraphs]
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("content.xml").file_size > _MOST_XML:
            raise ValueError("its content.xml is too large")
        root = ElementTree.fromstring(archive.read("content.xml"))
    return ["".join(one.itertext()) for one in root.iter(f"{_ODT_TEXT}p")]


def compare_docx_files(
    result: Path | None,
    expected: Path | None,
    ignore_blanks: bool = True,
    ignore_case: bool = False,
    ignore_order: bool = False,
    content_only: bool = False,
    fuzzy_match: bool = False,
    delete_empty_lines: bool = False,
) -> float:
    """Both documents have the same text, or how similar their texts are."""
    if result is None or expected is None or result.suffix != expected.suffix:
        return 0.0
    both = [_paragraphs(result), _paragraphs(expected)]
    if ignore_case:
        both = [[text.lower() for text in one] for one in both]
    if ignore_order:
        both = [sorted(one) for one in both]
    if delete_empty_lines:
        both = [[text for text in one if text.strip()] for one in both]
    if content_only or ignore_blanks:
        whole = [one_space("\n".join(one)) for one in both]
        return similarity(*whole) if content_only or fuzzy_match else float(whole[0] == whole[1])
    if not fuzzy_match or len(both[0]) != len(both[1]):
        return float(both[0] == both[1])
    pairs = list(zip(*both, strict=True))
    return sum(similarity(*pair) for pair in pairs) / len(pairs) if pairs else 1.0


def compare_docx_files_and_ignore_new_lines(
    result: Path | None, expected: Path | None, ignore_blanks: bool = True
) -> float:
    """Both documents have the same text but for empty paragraphs."""
    if result is None or expected is None:
        return 0.0
    both = [[text for text in _paragraphs(one) if text] for one in (result, expected)]
    if ignore_blanks:
        return float(one_space("\n".join(both[0])) == one_space("\n".join(both[1])))
    return float(both[0] == both[1])


def compare_docx_lines(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same set of lines."""
    if result is None or expected is None:
        return 0.0
    both = [{text.strip() for text in _paragraphs(one)} - {""} for one in (result, expected)]
    return float(both[0] == both[1])


def compare_docx_tables(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same tables, cell by cell."""
    if result is None or expected is None:
        return 0.0
    both = [
        [
            [[cell.text.strip() for cell in row.cells] for row in table.rows]
            for table in _document(one).tables
        ]
        for one in (result, expected)
    ]
    return float(both[0] == both[1])


def compare_docx_images(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same pictures, pixel by pixel."""
    if result is None or expected is None:
        return 0.0
    return float(_pictures(result) == _pictures(expected))


def _pictures(path: Path) -> list[tuple[Any, ...]]:
    from agentgym.formats.osworld.metrics.images import decoded

    found = []
    for relation in _document(path).part.rels.values():
        if "image" in relation.reltype and not relation.is_external:
            with decoded(io.BytesIO(relation.target_part.blob)) as picture:
                digest = hashlib.sha256(picture.convert("RGBA").tobytes()).hexdigest()
                found.append((picture.size, digest))
    return sorted(found)


def _same_text(result: Path | None, expected: Path | None) -> bool:
    return compare_docx_files(result, expected) == 1


def compare_line_spacing(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same text, and each paragraph the same spacing of lines."""
    if result is None or expected is None or not _same_text(result, expected):
        return 0.0
    both = [
        [one.paragraph_format.line_spacing for one in _document(path).paragraphs]
        for path in (result, expected)
    ]
    return float(both[0] == both[1])


def compare_subscript_contains(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same text, and the same part of it is below the line."""
    if result is None or expected is None or not _same_text(result, expected):
        return 0.0
    seen, wanted = (_letters(one, lambda run: run.font.subscript) for one in (result, expected))
    return float(seen == wanted != "")


def _letters(path: Path, chosen: Callable[[Any], Any]) -> str:
    """Return the text of some runs without white space."""
    return "".join("".join(run.text.split()) for run in _runs(_document(path)) if chosen(run))


def compare_font_names(result: Path | None, rules: Rule) -> float:
    """There is text, and every run of it has this font."""
    if result is None:
        return 0.0
    return float({run.font.name for run in _runs(_document(result))} == {rules["font_name"]})


def _runs(document: Any) -> Iterator[Any]:
    for paragraph in document.paragraphs:
        yield from _written(paragraph)


def _written(paragraph: Any) -> Iterator[Any]:
    """Yield the runs of a paragraph that have text, those of links too."""
    for part in paragraph.iter_inner_content():
        yield from (run for run in getattr(part, "runs", (part,)) if run.text.strip())


def has_page_numbers_in_footers(result: Path | None) -> float:
    """The footer of every section has a number or a field of the page."""
    if result is None:
        return 0.0
    sections = list(_document(result).sections)
    return float(bool(sections) and all(_numbered(one.footer) for one in sections))


def _numbered(footer: Any) -> bool:
    fields = [
        *footer._element.iter(f"{_WORD}instrText"),
        *footer._element.iter(f"{_WORD}fldSimple"),
    ]
    codes = ((one.text or "") + str(one.get(f"{_WORD}instr") or "") for one in fields)
    text = " ".join(one.text for one in footer.paragraphs)
    return any("PAGE" in code.split() for code in codes) or any(map(str.isdigit, text))


def is_first_line_centered(result: Path | None) -> float:
    """The first paragraph with text is centred."""
    if result is None:
        return 0.0
    from docx.enum.text import WD_ALIGN_PARAGRAPH

    first = next((one for one in _document(result).paragraphs if one.text.strip()), None)
    return float(first is not None and first.alignment == WD_ALIGN_PARAGRAPH.CENTER)


def contains_page_break(result: Path | None, rules: Rule) -> float:
    """There is a page break, or so many of them."""
    if result is None:
        return 0.0
    breaks = _document(result).element.body.iter(f"{_WORD}br")
    count = sum(one.get(f"{_WORD}type") == "page" for one in breaks)
    return float(count > 0 and rules.get("page_break_count", count) == count)


def check_italic_font_size_14(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same text and italics, and every italic run has 14 points.

    Where the expected document has no italics, any will do.
    """
    if result is None or expected is None or not _same_text(result, expected):
        return 0.0
    seen, wanted = (_letters(one, lambda run: run.italic) for one in (result, expected))
    if wanted and similarity(seen, wanted) < _SAME:
        return 0.0
    italic = [run for run in _runs(_document(result)) if run.italic]
    return float(all(run.font.size is not None and run.font.size.pt == 14 for run in italic))


def evaluate_strike_through_last_paragraph(result: Path | None, expected: Path | None) -> float:
    """Both documents have the same text, and the last paragraph of it is struck through."""
    if result is None or not _same_text(result, expected):
        return 0.0
    last = [one for one in _document(result).paragraphs if one.text.strip()][-1:]
    runs = [run for one in last for run in _written(one)]
    return float(bool(runs) and all(run.font.strike for run in runs))


_RED: Final = (255, 0, 0)
_BLUE: Final = (0, 0, 255)
_COLOUR_DISTANCE: Final = 16.0


def evaluate_colored_words_in_tables(result: Path | None, expected: Path | None) -> float:
    """Both have the same text; in tables, words with a vowel first are red and the others blue."""
    if result is None or not _same_text(result, expected):
        return 0.0
    if not compare_docx_tables(result, expected):
        return 0.0
    cells = (cell for table in _document(result).tables for row in table.rows for cell in row.cells)
    runs = (run for cell in cells for paragraph in cell.paragraphs for run in _written(paragraph))
    return float(all(map(_coloured, runs)))


def _coloured(run: Any) -> bool:
    wanted = _RED if run.text.strip()[0].lower() in "aeiou" else _BLUE
    seen = run.font.color.rgb
    if seen is None:
        return False
    squares = sum((int(one) - other) ** 2 for one, other in zip(seen, wanted, strict=True))
    return bool(squares**0.5 <= _COLOUR_DISTANCE)


def check_tabstops(
    result: Path | None,
    expected: Path | None,
    word_number_split_by_tabstop: int | None = None,
    index: int = 0,
) -> float:
    """Both documents have the same lines and tab stops, and so many words in a part of a line.

    The score is 1 less the mean distance of the stops by the width of a line.
    """
    if result is None or expected is None:
        return 0.0
    seen, wanted = (
        [p for p in _document(one).paragraphs if p.text.strip()] for one in (result, expected)
    )
    if len(seen) != len(wanted) or not wanted:
        return 0.0
    texts = (
        (one_space(one.text), one_space(two.text)) for one, two in zip(seen, wanted, strict=True)
    )
    if any(similarity(*pair) < _SAME for pair in texts):
        return 0.0
    if word_number_split_by_tabstop is not None:
        for paragraph in seen:
            parts = paragraph.text.split("\t")
            if index >= len(parts) or len(parts[index].split()) != word_number_split_by_tabstop:
                return 0.0
    section = _document(expected).sections[0]
    width = section.page_width - section.left_margin - section.right_margin
    away = 0.0
    for one, other in zip(seen, wanted, strict=True):
        distance = _tab_distance(_stops(one), _stops(other))
        if distance is None:
            return 0.0
        away += distance / width
    return max(0.0, 1 - away / len(wanted))


def _stops(paragraph: Any) -> list[tuple[Any, int]]:
    from docx.enum.text import WD_TAB_ALIGNMENT

    stops = ((stop.alignment, int(stop.position)) for stop in paragraph.paragraph_format.tab_stops)
    default = (WD_TAB_ALIGNMENT.LEFT, 0)
    return [one for one in stops if one[0] != WD_TAB_ALIGNMENT.CLEAR and one != default]


def _tab_distance(
    seen: Sequence[tuple[Any, int]], wanted: Sequence[tuple[Any, int]]
) -> float | None:
    if [one[0] for one in seen] != [one[0] for one in wanted]:
        return None
    return float(sum(abs(one[1] - other[1]) for one, other in zip(seen, wanted, strict=True)))


def compare_references(
    result: Path | None,
    expected: Path | None,
    reference_indicator: str = "References",
    reference_base_result: float = 0.5,
    content_only: bool = False,
) -> float:
    """The likeness of the entries below the heading are, beyond what the untouched file reaches."""
    if result is None or expected is None:
        return 0.0
    seen, wanted = (_entries(_paragraphs(one), reference_indicator) for one in (result, expected))
    if seen is None or wanted is None:
        return float(seen is wanted)
    if len(seen) != len(wanted) or not wanted:
        return 0.0
    pairs = zip(seen, wanted, strict=True)
    mean = sum(similarity(*pair) for pair in pairs) / len(wanted)
    gain = (mean - reference_base_result) / (1 - reference_base_result)
    return gain if mean >= reference_base_result + 0.01 else 0.0


def _entries(paragraphs: Sequence[str], heading: str) -> list[str] | None:
    if heading not in paragraphs:
        return None
    return [text for text in paragraphs[list(paragraphs).index(heading) + 1 :] if text.strip()]


def compare_unique_train_records(result: Path | None, expected: Sequence[Path | None]) -> float:
    """Of records with the same second field one is left, all as they were in the first file.

    Args:
        result: The document.
        expected: The right document, and the one that the agent found.
    """
    if result is None or len(expected) < 2:
        return 0.0
    gold, first = expected[:2]
    if gold is None or first is None:
        raise ValueError("compare_unique_train_records needs the right document and the first one")
    seen, wanted, before = (
        [t.strip() for t in _paragraphs(one) if t.strip()] for one in (result, gold, first)
    )
    ids, gold_ids = _ids(seen), _ids(wanted)
    kept = set(seen) <= set(before) and len(seen) == len(wanted)
    return float(kept and len(ids) == len(set(ids)) and set(ids) == set(gold_ids))


def _ids(lines: Sequence[str]) -> list[str]:
    parts = (line.split(",") for line in lines)
    return [one[1].strip() for one in parts if len(one) == 4]


def fuzzy_place_math(result: Path | None, rules: Rule) -> float:
    """The document has three words; how similar each is to the nearest expected one."""
    if result is None:
        return 0.0
    words = re.findall(r"\S+", " ".join(_paragraphs(result)))
    if len(words) != 3:
        return 0.0
    return sum(max(similarity(word, one) for one in rules["expected"]) for word in words) / 3
