"""OSWorld's metrics: files that meet the letter of a metric without the work."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest
from docx.oxml.ns import qn
from osworld_files import File, book, document, picture, slides, text, texture

from agentgym.formats.osworld.metrics import registry


def score(name, arguments, folder, **options):
    def laid(at, one):
        return one.lay(folder / str(at)) if isinstance(one, File) else one

    module = importlib.import_module(f"agentgym.formats.osworld.metrics.{registry.MODULES[name]}")
    return getattr(module, name)(*(laid(*each) for each in enumerate(arguments)), **options)


def fonts(at: int, **values):
    """Change all runs of a paragraph."""

    def change(made):
        for run in made.paragraphs[at].runs:
            for name, value in values.items():
                setattr(run.font, name, value)

    return change


def several(*changes):
    def change(made):
        for one in changes:
            one(made)

    return change


def linked(at: int):
    """Put the runs of a paragraph into a link, where its list of runs does not show them."""

    def change(made):
        paragraph = made.paragraphs[at]._p
        link = paragraph.makeelement(qn("w:hyperlink"), {qn("w:anchor"): "x"})
        for run in list(paragraph.r_lst):
            link.append(run)
        paragraph.append(link)

    return change


def table(*cells: str, colours=()):
    from docx.shared import RGBColor

    def change(made):
        row = made.add_table(1, max(1, len(cells))).rows[0]
        for at, words in enumerate(cells):
            run = row.cells[at].paragraphs[0].add_run(words)
            if colours:
                run.font.color.rgb = RGBColor(*colours[at])

    return document("a", change=change)


def no_sections(made):
    for one in list(made.element.body.iter(qn("w:sectPr"))):
        one.getparent().remove(one)


def tabbed(words: str) -> File:
    from docx.shared import Cm

    def change(made):
        made.paragraphs[0].paragraph_format.tab_stops.add_tab_stop(Cm(5))

    return document(words, change=change)


def italics(*sizes):
    """Two paragraphs; each that has a size is italic."""
    from docx.shared import Pt

    given = [(at, size) for at, size in enumerate(sizes) if size]
    changes = [fonts(at, italic=True, size=Pt(size)) for at, size in given]
    return document("one", "two", change=several(*changes))


def struck(*runs: bool) -> File:
    """A slide whose only shape has runs of which some are struck through."""

    def change(made):
        paragraph = made.slides[0].shapes[0].text_frame.paragraphs[0]
        for old in list(paragraph.runs):
            paragraph._p.remove(old._r)
        for is_struck in runs:
            run = paragraph.add_run()
            run.text = "words"
            if is_struck:
                run.font._element.set("strike", "sngStrike")

    return slides("words", change=change)


TOWNS = [f"Town {at}," for at in range(21)]


def cities(*cells: str) -> File:
    return book({"S": [["a", "b", "c"], *(["", "", one] for one in cells)]})


RED, BLUE = (255, 0, 0), (0, 0, 255)
LAST = "evaluate_strike_through_last_paragraph"
SIZES = {"slide_index_s": [0], "shape_index_s": [0], "paragraph_index_s": [0]}
CASES = {
    "an empty paragraph at the end": (
        LAST,
        (document("a", "b", change=fonts(1, strike=True)), document("a", "b")),
        [
            (document("a", "b", ""), document("a", "b")),
            (document("a", "b", change=linked(1)), document("a", "b")),
        ],
    ),
    "tables without their words": (
        "evaluate_colored_words_in_tables",
        (table("Ant", "bee", colours=[RED, BLUE]), table("Ant", "bee")),
        [
            (document("a"), table("Ant", "bee")),
            (table("", ""), table("Ant", "bee")),
            (table("Ant", "oak", colours=[RED, RED]), table("Ant", "bee")),
        ],
    ),
    "nothing is italic any more": (
        "check_italic_font_size_14",
        (italics(14, 14), italics(12, 12)),
        [(italics(None, None), italics(12, 12)), (italics(14, None), italics(12, 12))],
    ),
    "no text": (
        "compare_font_names",
        (document("a", "", change=fonts(0, name="Arial")), {"font_name": "Arial"}),
        [
            (document(), {"font_name": "Arial"}),
            (document("", " "), {"font_name": "Arial"}),
            (document("a", change=linked(0)), {"font_name": "Arial"}),
        ],
    ),
    "no section": (
        "has_page_numbers_in_footers",
        (
            document(
                "a", change=lambda one: setattr(one.sections[0].footer.paragraphs[0], "text", "1")
            ),
        ),
        [(document("a", change=no_sections),)],
    ),
    "an empty line in the middle": (
        "is_first_line_centered",
        (document("", "a", change=lambda one: setattr(one.paragraphs[1], "alignment", 1)),),
        [(document("", "a", change=lambda one: setattr(one.paragraphs[0], "alignment", 1)),)],
    ),
    "another text below the line": (
        "compare_subscript_contains",
        (document("H", "2", change=fonts(1, subscript=True)),) * 2,
        [
            (
                document("x", "y", change=several(fonts(0, subscript=True), fonts(1, subscript=1))),
                document("H", "2", change=fonts(1, subscript=True)),
            ),
            (
                document("H", "2", change=several(fonts(0, subscript=True), fonts(1, subscript=1))),
                document("H", "2", change=fonts(1, subscript=True)),
            ),
        ],
    ),
    "another text between the stops": (
        "check_tabstops",
        (tabbed("one  two three\tfour"), tabbed("one two three\t four")),
        [(tabbed("x y z\tw"), tabbed("one two three\tfour"))],
    ),
    "all cities in each cell": (
        "compare_conference_city_in_order",
        (cities(*TOWNS), {"expected": [[one, "Nowhere"] for one in TOWNS]}),
        [(cities(*[" ".join(TOWNS)] * 21), {"expected": TOWNS})],
    ),
    "all numbers": (
        "compare_result_files",
        (text("in 2024 it was 45, of 50"), text("45")),
        [
            (text(" ".join(map(str, range(1000)))), text("45")),
            (text("0123456789"), text("45")),
            (text("145"), text("45")),
            (text("45.5"), text("45")),
        ],
    ),
    "a number that begins with its point": (
        "compare_result_files",
        (text("about -.5"), text("-0.5")),
        [(text("1.2.5"), text("0.5")), (text("a.5"), text("0.5")), (text(".5"), text("5"))],
    ),
    "one letter of a line": (
        "check_strikethrough",
        (struck(True, True), SIZES),
        [(struck(True, False), SIZES), (struck(), SIZES)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_letter_is_not_enough(tmp_path: Path, case: str) -> None:
    name, right, wrong = CASES[case]
    assert score(name, right, tmp_path / "right") == 1
    for number, arguments in enumerate(wrong):
        assert score(name, arguments, tmp_path / f"{number}") == 0, number


def test_a_tiny_picture_is_unlike_a_large_one(tmp_path: Path) -> None:
    """A copy of 7 x 7 pixels shows hardly more than the mean of both pictures."""
    from PIL import Image

    wanted = texture((70, 70))
    half = wanted.copy()
    half[:, 35:] = wanted[:, 35:].mean(axis=(0, 1))
    tiny = np.asarray(Image.fromarray(half).resize((7, 7), Image.Resampling.LANCZOS))
    larger = np.asarray(Image.fromarray(wanted).resize((140, 140), Image.Resampling.LANCZOS))
    given = picture(wanted)
    untouched = score("compare_images", (picture(half), given), tmp_path / "1")
    assert score("compare_images", (picture(tiny), given), tmp_path / "2") < untouched
    assert score("compare_images", (picture(larger), given), tmp_path / "3") > 0.9
