"""OSWorld's metrics of presentations."""

import pytest
from osworld_files import slides
from osworld_picture_cases import PLAIN
from osworld_scores import score

from agentgym.formats.osworld.metrics import registry


def deck(*titles, **kinds):
    """Two slides of which the second differs from a plain one in something."""

    def change(made):
        from pptx.dml.color import RGBColor
        from pptx.util import Pt

        slide = made.slides[1]
        paragraph = slide.placeholders[1].text_frame.paragraphs[0]
        font = paragraph.runs[0].font
        for kind, value in kinds.items():
            if kind in ("bold", "italic", "underline", "name"):
                setattr(font, kind, value)
            elif kind == "size":
                font.size = Pt(value)
            elif kind == "colour":
                font.color.rgb = RGBColor(*value)
            elif kind == "strike":
                font._element.set("strike", "sngStrike")
            elif kind == "alignment":
                paragraph.alignment = value
            elif kind == "note":
                slide.notes_slide.notes_text_frame.text = value
            elif kind == "left":
                slide.shapes.title.left = value
            elif kind == "background":
                slide.background.fill.solid()
                slide.background.fill.fore_color.rgb = RGBColor(*value)

    return slides(*(titles or ("One", "Two")), change=change)


def test_presentations_are_equal_in_what_is_examined(tmp_path):
    pytest.importorskip("pptx")
    gold = deck()
    assert score("compare_pptx_files", (deck(), gold), tmp_path / "same") == 1
    assert score("compare_pptx_files", (deck(bold=False), gold), tmp_path / "not bold") == 1
    different = {
        "font_bold": {"bold": True},
        "font_italic": {"italic": True},
        "font_underline": {"underline": True},
        "font_name": {"name": "Arial"},
        "font_size": {"size": 40},
        "strike_through": {"strike": True},
        "alignment": {"alignment": 2},
        "note": {"note": "Say this"},
        "shape": {"left": 3_000_000},
        "background_color": {"background": (9, 9, 9)},
    }
    for option, change in different.items():
        seen = deck(**change)
        assert score("compare_pptx_files", (seen, gold), tmp_path / option) == 0, option
        off = {f"examine_{option}": False}
        assert score("compare_pptx_files", (seen, gold), tmp_path / f"{option}-", **off) == 1, (
            option
        )
    red, blue = deck(colour=(255, 0, 0)), deck(colour=(0, 0, 255))
    assert score("compare_pptx_files", (red, blue), tmp_path / "colour") == 0
    assert score("compare_pptx_files", (deck("One", "Three"), gold), tmp_path / "text") == 0
    assert score("compare_pptx_files", (deck("One", "Two", "Three"), gold), tmp_path / "more") == 0
    assert score("compare_pptx_files", (None, gold), tmp_path / "none") == 0
    with pytest.raises(ValueError, match="no option 'examine_taste'"):
        score("compare_pptx_files", (gold, gold), tmp_path / "option", examine_taste=True)


def wide(width, height):
    def change(made):
        made.slide_width, made.slide_height = width, height

    return slides("One", change=change)


def with_picture(tmp_path, left=0, share=1.0):
    path = tmp_path / "picture.png"
    path.write_bytes(PLAIN.data)

    def change(made):
        size = int(made.slide_width * share), int(made.slide_height * share)
        made.slides[0].shapes.add_picture(str(path), left, 0, *size)

    return slides("One", change=change)


def transition(kind):
    from lxml import etree

    def change(made):
        space = "http://schemas.openxmlformats.org/presentationml/2006/main"
        one = etree.SubElement(made.slides[0].element, f"{{{space}}}transition")
        etree.SubElement(one, f"{{{space}}}{kind}")

    return slides("One", change=change)


def numbered(value):
    from lxml import etree

    def change(made):
        space = "http://schemas.openxmlformats.org/drawingml/2006/main"
        for shape in made.slide_masters[0].placeholders:
            if "SLIDE_NUMBER" in str(shape.placeholder_format.type):
                for fill in list(shape._element.iter(f"{{{space}}}solidFill")):
                    fill.clear()
                    etree.SubElement(fill, f"{{{space}}}srgbClr").set("val", value)

    return slides("One", change=change)


def test_properties_of_presentations_are_checked(tmp_path):
    pytest.importorskip("pptx")
    named = {"slide_index_s": [1], "shape_index_s": [1], "paragraph_index_s": [0]}
    blue = {"rgb": [0, 0, 255]}
    both = slides("One", change=lambda made: None)
    filled = with_picture(tmp_path)
    expectations = [
        ("check_strikethrough", (deck(strike=True), named), [(deck(), named), (None, named)]),
        (
            "check_slide_orientation_Portrait",
            (wide(6_000_000, 9_000_000),),
            [(wide(9_000_000, 6_000_000),), (None,)],
        ),
        (
            "check_image_stretch_and_center",
            (filled, with_picture(tmp_path, share=0.3)),
            [
                (with_picture(tmp_path, share=0.3), filled),
                (with_picture(tmp_path, left=2_000_000), filled),
                (both, filled),
                (None, filled),
            ],
        ),
        (
            "check_transition",
            (transition("dissolve"), {"slide_idx": 0, "transition_type": "dissolve"}),
            [
                (transition("fade"), {"slide_idx": 0, "transition_type": "dissolve"}),
                (both, {"slide_idx": 5, "transition_type": "x"}),
                (None, {}),
            ],
        ),
        (
            "check_page_number_colors",
            (numbered("E01010"), {"color": "red"}),
            [
                (numbered("1010E0"), {"color": "red"}),
                (numbered("101010"), {"color": "red"}),
                (None, {"color": "red"}),
            ],
        ),
    ]
    for at, (name, right, wrong) in enumerate(expectations):
        assert score(name, right, tmp_path / f"{at}") == 1, name
        for number, arguments in enumerate(wrong):
            assert score(name, arguments, tmp_path / f"{at}-{number}") == 0, (name, number)
    name = "evaluate_presentation_fill_to_rgb_distance"
    assert score(name, (deck(background=(0, 0, 255)), blue), tmp_path / "half") == pytest.approx(
        0.5
    )
    assert score(name, (both, blue), tmp_path / "white") == 0
    covered = {name for name, *_ in expectations} | {name}
    assert covered == {name for name, module in registry.MODULES.items() if module == "slides"}
