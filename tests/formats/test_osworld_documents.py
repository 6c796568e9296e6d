"""OSWorld's metrics of documents."""

import pytest
from osworld_files import document
from osworld_picture_cases import FLAT, PLAIN
from osworld_scores import score

from agentgym.formats.osworld.metrics import registry


def styled(**fonts):
    """Change the first run of the last paragraph."""

    def change(made):
        run = made.paragraphs[-1].runs[0]
        for name, value in fonts.items():
            setattr(run.font, name, value)

    return change


def breaks(count):
    def change(made):
        for _ in range(count):
            made.add_page_break()

    return change


def footer(words):
    return document(
        "a", change=lambda made: setattr(made.sections[0].footer.paragraphs[0], "text", words)
    )


def table_of(*cells, colours=()):
    from docx.shared import RGBColor

    def change(made):
        made_table = made.add_table(1, len(cells))
        for at, words in enumerate(cells):
            run = made_table.cell(0, at).paragraphs[0].add_run(words)
            if colours:
                run.font.color.rgb = RGBColor(*colours[at])

    return document("a", change=change)


def aligned(value):
    return document("a", change=lambda made: setattr(made.paragraphs[0], "alignment", value))


def with_tabs(*places, words="a b c\td"):
    from docx.shared import Cm

    def change(made):
        for place in places:
            made.paragraphs[0].paragraph_format.tab_stops.add_tab_stop(Cm(place))

    return document(words, change=change)


def spaced(value):
    return document(
        "a", change=lambda made: setattr(made.paragraphs[0].paragraph_format, "line_spacing", value)
    )


def shown(data, tmp):
    path = tmp / "in.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.data)
    return document("a", change=lambda made: made.add_picture(str(path)))


def test_documents_are_compared(tmp_path):
    from docx.shared import Pt

    red, blue = (255, 0, 0), (0, 0, 255)
    one, ids = document("a b", "c"), [f"t,{n},s,p" for n in (1, 2, 2)]
    first = document(*ids)
    refs = document("Text", "References", "Ada, 1843", "Turing, 1936")
    expectations = [
        (
            "compare_docx_files",
            (one, document("a  b c")),
            [(document("a b", "d"), one), (None, one)],
            {},
        ),
        (
            "compare_docx_files",
            (document("C", "", "a b"), one),
            [(document("c"), one)],
            {
                "ignore_order": True,
                "ignore_case": True,
                "delete_empty_lines": True,
                "ignore_blanks": False,
            },
        ),
        (
            "compare_docx_files_and_ignore_new_lines",
            (document("a b", "", "c"), one),
            [(document("a c"), one), (None, one)],
            {},
        ),
        (
            "compare_docx_lines",
            (document("c", "a b"), one),
            [(document("c"), one), (None, one)],
            {},
        ),
        (
            "compare_docx_tables",
            (table_of("x", "y"), table_of("x", "y ")),
            [(table_of("x", "z"), table_of("x", "y")), (one, table_of("x")), (None, one)],
            {},
        ),
        (
            "compare_docx_images",
            (shown(PLAIN, tmp_path / "p"), shown(PLAIN, tmp_path / "p")),
            [
                (shown(FLAT, tmp_path / "p"), shown(PLAIN, tmp_path / "p")),
                (one, shown(PLAIN, tmp_path / "p")),
                (None, one),
            ],
            {},
        ),
        (
            "compare_line_spacing",
            (spaced(2.0), spaced(2.0)),
            [(spaced(1.5), spaced(2.0)), (None, one)],
            {},
        ),
        (
            "compare_subscript_contains",
            (document("H", "2", change=styled(subscript=True)),) * 2,
            [(document("H", "2"), document("H", "2", change=styled(subscript=True))), (None, one)],
            {},
        ),
        (
            "compare_font_names",
            (document("a", change=styled(name="Arial")), {"font_name": "Arial"}),
            [(document("a"), {"font_name": "Arial"}), (None, {"font_name": None})],
            {},
        ),
        ("has_page_numbers_in_footers", (footer("Page 1"),), [(footer("Page"),), (None,)], {}),
        ("is_first_line_centered", (aligned(1),), [(aligned(0),), (document("a"),), (None,)], {}),
        (
            "contains_page_break",
            (document("a", change=breaks(2)), {"page_break_count": 2}),
            [
                (document("a", change=breaks(1)), {"page_break_count": 2}),
                (document("a"), {}),
                (None, {}),
            ],
            {},
        ),
        (
            "check_italic_font_size_14",
            (document("a", change=styled(italic=True, size=Pt(14))), document("a")),
            [
                (document("a", change=styled(italic=True, size=Pt(12))), document("a")),
                (document("b"), document("a")),
                (None, one),
            ],
            {},
        ),
        (
            "evaluate_strike_through_last_paragraph",
            (document("a", "b", change=styled(strike=True)), document("a", "b")),
            [
                (document("a", "b"), document("a", "b")),
                (document("a", "c", change=styled(strike=True)), document("a", "b")),
                (None, one),
            ],
            {},
        ),
        (
            "evaluate_colored_words_in_tables",
            (table_of("Ant", "bee", colours=[red, blue]), table_of("Ant", "bee")),
            [
                (table_of("Ant", "bee", colours=[blue, red]), table_of("Ant", "bee")),
                (table_of("Ant", "bee"), table_of("Ant", "bee")),
                (None, one),
            ],
            {},
        ),
        (
            "check_tabstops",
            (with_tabs(5, 9), with_tabs(5, 9)),
            [
                (with_tabs(5), with_tabs(5, 9)),
                (with_tabs(5, 9, words="a\tb"), with_tabs(5, 9)),
                (with_tabs(), with_tabs(5, 9)),
                (None, one),
            ],
            {"word_number_split_by_tabstop": 3, "index": 0},
        ),
        (
            "compare_references",
            (refs, refs),
            [
                (document("References", "Ada, 1843"), refs),
                (document("x"), refs),
                (document("References", "X", "Y"), refs),
                (None, refs),
            ],
            {"reference_base_result": 0.5},
        ),
        (
            "compare_unique_train_records",
            (document(*ids[:2]), [document(*ids[:2]), first]),
            [
                (first, [document(*ids[:2]), first]),
                (document(ids[0]), [document(*ids[:2]), first]),
                (document("t,1,x,p", ids[1]), [document(*ids[:2]), first]),
                (None, [one, one]),
            ],
            {},
        ),
        (
            "fuzzy_place_math",
            (document("Oslo Rome", "Bern"), {"expected": ["Bern", "Rome", "Oslo"]}),
            [
                (document("Oslo"), {"expected": ["Oslo"]}),
                (document("x y z"), {"expected": ["Oslo"]}),
                (None, {"expected": ["a"]}),
            ],
            {},
        ),
    ]
    for at, (name, right, wrong, options) in enumerate(expectations):
        assert score(name, right, tmp_path / f"{at}", **options) == pytest.approx(1), name
        for number, arguments in enumerate(wrong):
            assert score(name, arguments, tmp_path / f"{at}-{number}", **options) < 0.6, (
                name,
                number,
            )
    covered = {name for name, *_ in expectations}
    assert covered == {name for name, module in registry.MODULES.items() if module == "documents"}
