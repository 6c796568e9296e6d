"""OSWorld's metrics: each accepts what is right and refuses several wrong things."""

import contextlib
import importlib
import os
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from osworld_files import (
    File,
    archive,
    as_json,
    book,
    document,
    pdf,
    picture,
    slides,
    text,
    texture,
)

from agentgym.errors import GuestFileError
from agentgym.formats.osworld.metrics import reader, registry
from agentgym.formats.osworld.metrics.matching import fits, similarity
from agentgym.verify.subprocess_reader import ask

READER = Path(reader.__file__)
LINE = "{http://openoffice.org/2001/registry}"


def registry_file(path, prop, value):
    """A registrymodifications.xcu with one setting."""
    item = f'<item oor:path="{path}"><prop oor:name="{prop}"><value>{value}</value></prop></item>'
    head = '<?xml version="1.0"?><oor:items xmlns:oor="http://openoffice.org/2001/registry">'
    return text(f"{head}{item}</oor:items>", "registrymodifications.xcu")


def database(tmp_path, *names):
    path = tmp_path / f"{len(names)}.db"
    with sqlite3.connect(path) as link:
        link.execute("create table person (name text)")
        link.executemany("insert into person values (?)", [(name,) for name in names])
    link.close()
    return path


def prefs(**values):
    return text("".join(f'user_pref("{k}", {v});\n' for k, v in values.items()), "prefs.js")


FILTER = (
    'name="Mine"\nenabled="yes"\naction="Move to folder"\ncondition="AND (subject,contains,tax)"\n'
)
BAR = {
    "bookmark_bar": {
        "children": [
            {"type": "folder", "name": "Liked Authors", "children": [{"type": "url", "url": "u1"}]},
            {"type": "url", "url": "https://a.example"},
        ]
    }
}
CALLED = {"type": "liked_authors_websites_urls"}
OBJECT = {"expected": {"city": "Bonn", "days": ["1", "2"]}}

# metric: (right arguments, several wrong ones, options)
VALUES = {
    "exact_match": (
        ("a", {"expected": "a"}),
        [("A", {"expected": "a"}), (None, {"expected": "a"})],
    ),
    "compare_answer": (
        ("a", {"expected": "a"}),
        [("", {"expected": ""}), ("b", {"expected": "a"})],
    ),
    "match_in_list": (
        ("a", {"expected": ["a", "b"]}),
        [("c", {"expected": ["a"]}), (None, {"expected": ["a"]})],
    ),
    "is_in_list": (
        (["a", "b"], {"expected": "a"}),
        [(["ab"], {"expected": "a"}), (None, {"expected": "a"})],
    ),
    "literal_match": (
        (["A", 1], ["a", "1"]),
        [(["a"], ["a", "1"]), ("a", ["a"])],
        {"type": "list", "ignore_case": True},
    ),
    "check_include_exclude": (
        ("one two", {"include": ["one"], "exclude": ["three"]}),
        [
            ("two", {"include": ["one"]}),
            ("one three", {"include": ["one"], "exclude": ["three"]}),
            (None, {}),
        ],
    ),
    "fuzzy_match": (
        ("same", {"expected": "same"}),
        [("abc", {"expected": "xyz"}), (None, {"expected": ""})],
    ),
    "check_direct_json_object": (
        ('{"city": "Bonn", "days": ["1", "2"], "more": 1}', OBJECT),
        [
            ("{}", OBJECT),
            ("no json", OBJECT),
            ({"city": "Bonn", "days": ["2", "1"]}, OBJECT),
            (None, OBJECT),
        ],
    ),
    "check_gnome_favorite_apps": (
        ("['b.desktop', 'a.desktop']\n", {"expected": ["a.desktop", "b.desktop"]}),
        [
            ("['a.desktop']", {"expected": ["a.desktop", "b"]}),
            ("__import__('os')", {"expected": []}),
        ],
    ),
    "is_utc_0": (
        ("x\n    Time zone: Etc/UTC (UTC, +0000)\n",),
        [("Time zone: X (CET, +0100)",), ("",)],
    ),
    "check_text_enlarged": (("1.25",), [("1.0",), ("large",)]),
    "check_moved_jpgs": (
        ({"children": [{"name": "b"}, {"name": "a"}]}, {"expected": ["a", "b"]}),
        [
            ({"children": [{"name": "a"}]}, {"expected": ["a", "b"]}),
            (None, {"expected": []}),
            ({"children": [{"name": "a"}, {"name": "b"}, {"name": "c"}]}, {"expected": ["a", "b"]}),
        ],
    ),
    "is_in_vm_clickboard": (
        ({"expected": ["a", "b"]}, "b a"),
        [({"expected": ["a", "b"]}, "a"), ({"expected": "a"}, None)],
    ),
    "is_vlc_fullscreen": (
        ({"width": 9, "height": 8}, {"width": 9, "height": 8}),
        [({"width": 9, "height": 7}, {"width": 9, "height": 8}), (None, {"width": 9, "height": 8})],
    ),
    # --- browsers ---
    "check_font_size": (
        ({"default_font_size": 20}, {"type": "range", "min": 16, "max": 24}),
        [
            ({"default_font_size": 16}, {"type": "range", "min": 16, "max": 24}),
            (None, {"type": "value", "value": 1}),
        ],
    ),
    "check_history_deleted": (
        ([["https://a.example"]], {"keywords": ["youtube"]}),
        [([["https://youtube.com"]], {"keywords": ["youtube"]}), (None, {"keywords": ["a"]})],
    ),
    "is_cookie_deleted": (
        ([[1, ".b.example"]], {"type": "domains", "domains": [".a.example"]}),
        [
            ([[1, "www.a.example"]], {"type": "domains", "domains": [".a.example"]}),
            (None, {"domains": ["a"]}),
        ],
    ),
    "is_added_to_steam_cart": (
        ({"content": "X and Y"}, {"items": ["X", "Y"]}),
        [({"content": "X"}, {"items": ["X", "Y"]}), (None, {"items": []})],
    ),
    "is_expected_active_tab": (
        ({"url": "https://www.a.example/b/?q=1"}, {"type": "url", "url": "a.example/b?q=1"}),
        [
            ({"url": "https://a.example/c"}, {"type": "url", "url": "https://a.example/b"}),
            (None, {"url": ""}),
            ({"url": "https://a.example/b?q=2"}, {"type": "url", "url": "https://a.example/b?q=1"}),
        ],
    ),
    "is_expected_active_tab_approximate": (
        ({"url": "https://a.example/b?q=1"}, {"url": "https://a.example/b"}),
        [({"url": "https://a.example/c"}, {"url": "https://a.example/b"}), (None, {"url": "x"})],
    ),
    "is_expected_bookmarks": (
        (BAR, {**CALLED, "urls": [["u1", "u2"]]}),
        [
            (BAR, {**CALLED, "urls": ["u2"]}),
            (BAR, {**CALLED, "urls": ["u1", "u3"]}),
            (None, CALLED),
            (BAR, {"type": "bookmark_bar_websites_urls", "urls": ["https://b.example"]}),
            (BAR, {"type": "bookmark_bar_folders_names", "names": ["Liked"]}),
        ],
    ),
    "is_expected_installed_extensions": (
        (["a", "b"], {"expected": ["a"]}),
        [(["b"], {"expected": ["a"]}), (None, {"expected": ["a"]})],
    ),
    "is_expected_search_query": (
        ({"url": "https://x.example/?q=cat"}, {"expect": {"pattern": "q=cat"}}),
        [({"url": "x"}, {"expect": {"pattern": "q=cat"}})],
    ),
    "is_expected_tabs": (
        (
            [{"url": "https://a.example/"}, {"url": "b.example"}],
            {"urls": ["http://www.b.example", "a.example"]},
        ),
        [
            ([{"url": "a.example"}], {"urls": ["a.example", "b.example"]}),
            ([{"url": "a.example"}] * 2, {"urls": ["a.example", "b.example"]}),
        ],
    ),
    "is_expected_url_pattern_match": (
        ("https://a.example/x", {"expected": ["a\\.", "/x$"]}),
        [("https://a.example/y", {"expected": ["/x$"]}), (None, {"expected": []})],
    ),
    "is_extension_installed": (
        ("one\ntwo", {"type": "contain", "expected": "two"}),
        [
            ("one", {"type": "contain", "expected": "two"}),
            ("two", {"type": "not_contain", "expected": "two"}),
            (None, {"type": "not_contain", "expected": "x"}),
        ],
    ),
    "is_shortcut_on_desktop": (
        ({"p": "Name=My Page\n"}, {"type": "name", "name": "My Page"}),
        [
            ({"p": "Name=Other\n"}, {"type": "name", "name": "My Page"}),
            ({}, {"type": "name", "name": "a"}),
        ],
    ),
}

CSV = text("name,age\nada,36\n", "file.csv")
TEXTS = {
    "diff_text_file": (
        (text("a\nb"), text("a\nb")),
        [(text("x"), text("a\nb")), (None, text("a"))],
    ),
    "compare_text_file": (
        (text("a  B\n"), text("A b")),
        [(text("a c"), text("a b")), (None, text("a"))],
        {"ignore_blanks": True, "ignore_case": True},
    ),
    "file_contains": (
        (text("x a b"), {"expected": ["a", "b"]}),
        [(text("a"), {"expected": ["a", "b"]}), (None, {"expected": []})],
    ),
    "check_line_number": (
        (text("10:00:00 x\ny\n23:59:60\n"), {"expected": "2"}),
        [(text("24:00:00\n10:00:00"), {"expected": "2"}), (None, {"expected": "0"})],
    ),
    "compare_python_pure_text": (
        (text("#!/x\n# coding: utf8\na = 1  \n\n"), text("a = 1")),
        [(text(" a = 1"), text("a = 1")), (text("```\na = 1"), text("a = 1")), (None, text(""))],
    ),
    "compare_result_files": (
        (text("it is 4.5"), text("4.5")),
        [(text("4.6"), text("4.5")), (text("x"), text("y")), (None, text("1"))],
    ),
    "check_list": (
        (text("one\ntwo\n"), {"expect": ["^o"], "unexpect": ["three"]}),
        [
            (text("two"), {"expect": ["^o"]}),
            (text("one\nthree"), {"expect": ["^o"], "unexpect": ["three"]}),
            (None, {}),
        ],
    ),
    "check_csv": (
        (CSV, {"expect": [{"name": "ada"}], "unexpect": [{"name": "bob"}]}),
        [
            (CSV, {"expect": [{"name": "ada", "age": "37"}]}),
            (CSV, {"unexpect": [{"age": "36"}]}),
            (None, {}),
        ],
    ),
    "compare_csv": (
        (CSV, [text("x"), text("NAME,age \nada,36")]),
        [(CSV, text("name,age")), (text(""), CSV), (None, CSV)],
        {"strict": False, "ignore_case": True},
    ),
    "check_json": (
        (
            as_json({"a": [{"b": 5}]}),
            {
                "expect": [{"key": ["a", 0, "b"], "method": "gt", "ref": 4}],
                "unexpect": [{"key": ["c"], "method": "eq", "ref": 1}],
            },
        ),
        [
            (as_json({"a": []}), {"expect": [{"key": ["a", 0, "b"], "method": "gt", "ref": 4}]}),
            (
                as_json({"a": [{"b": 4}]}),
                {"expect": [{"key": ["a", 0, "b"], "method": "gt", "ref": 4}]},
            ),
            (as_json({"c": 1}), {"unexpect": [{"key": ["c"], "method": "eq", "ref": 1}]}),
            (None, {}),
        ],
    ),
    "check_json_settings": (
        (as_json({"a": 1, "b": 2}), {"expected": {"a": 1}}),
        [
            (as_json({"a": 2}), {"expected": {"a": 1}}),
            (as_json([1]), {"expected": {}}),
            (None, {"expected": {}}),
        ],
    ),
    "check_json_keybindings": (
        (text('// mine\n[{"key": "k"}]'), {"expected": {"key": "k"}}),
        [
            (text("[]"), {"expected": {"key": "k"}}),
            (text("x"), {"expected": {}}),
            (None, {"expected": {}}),
        ],
    ),
    "compare_config": (
        (as_json({"a": {"b": 1, "c": 2}}), {"expected": '{"a": {"b": 1}}'}),
        [
            (as_json({"a": {"b": 2}}), {"expected": '{"a": {"b": 1}}'}),
            (text("x"), {"expected": "y"}),
            (None, {"expected": "y"}),
        ],
    ),
    "check_libre_locale": (
        (
            registry_file("/org.openoffice.Setup/L10N", "ooSetupSystemLocale", "de-DE"),
            {"locale_set": ["de*"]},
        ),
        [
            (registry_file("/x/L10N", "ooLocale", "fr"), {"locale_set": ["de*"]}),
            (None, {"locale_set": ["*"]}),
        ],
    ),
    "find_default_font": (
        (
            registry_file("/org.openoffice.Office.Writer/DefaultFont", "Standard", "Arial"),
            {"font_name": "Arial"},
        ),
        [
            (
                registry_file("/org.openoffice.Office.Writer/DefaultFont", "List", "Arial"),
                {"font_name": "Arial"},
            ),
            (None, {"font_name": ""}),
        ],
    ),
    "check_auto_saving_time": (
        (
            registry_file(
                "/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall", "3"
            ),
            {"minutes": 3},
        ),
        [
            (
                registry_file(
                    "/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall", "30"
                ),
                {"minutes": 3},
            ),
            (None, {"minutes": 3}),
        ],
    ),
    "check_presenter_console_disable": (
        (
            registry_file(
                "/org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen", "false"
            ),
        ),
        [
            (
                registry_file(
                    "/org.openoffice.Office.Impress/Misc/Start", "EnablePresenterScreen", "true"
                ),
            ),
            (registry_file("/x", "y", "false"),),
            (None,),
        ],
    ),
    "is_vlc_recordings_folder": (
        (text("#input-record-path=/a\ninput-record-path=/b"), {"recording_file_path": "/b"}),
        [
            (text("#input-record-path=/b"), {"recording_file_path": "/b"}),
            (None, {"recording_file_path": "/b"}),
        ],
    ),
    "check_qt_minimal_view": (
        (text("qt-minimal-view=1"), {"expected_qt_minimal_view": 1}),
        [
            (text(""), {"expected_qt_minimal_view": 1}),
            (text("#qt-minimal-view=1"), {"expected_qt_minimal_view": 1}),
        ],
    ),
    "check_qt_bgcone": (
        (text("qt-bgcone=0"), {"expected_qt_bgcone": 0}),
        [(text("#qt-bgcone=0"), {"expected_qt_bgcone": 0}), (None, {"expected_qt_bgcone": 1})],
    ),
    "check_qt_max_volume": (
        (text("qt-max-volume=200"), {"expected_qt_max_volume": 200}),
        [
            (text("qt-max-volume=20"), {"expected_qt_max_volume": 200}),
            (text(""), {"expected_qt_max_volume": 200}),
        ],
    ),
    "check_play_and_exit": (
        (text("play-and-exit=1"), {"expected_play_and_exit": 1}),
        [
            (text("play-and-exit=0"), {"expected_play_and_exit": 1}),
            (None, {"expected_play_and_exit": 0}),
        ],
    ),
    "check_one_instance_when_started_from_file": (
        (
            text("one-instance-when-started-from-file=0"),
            {"expected_one_instance_when_started_from_file": 0},
        ),
        [(text(""), {"expected_one_instance_when_started_from_file": 0})],
    ),
    "check_global_key_play_pause": (
        (text("global-key-play-pause=Ctrl+P"), {"expected_global_key_play_pause": 1}),
        [
            (text("global-key-play-pause="), {"expected_global_key_play_pause": 1}),
            (None, {"expected_global_key_play_pause": 0}),
        ],
    ),
    "check_qt_slider_colours": (
        (text("qt-slider-colours=1;2;3;99;0;0"), {"type": "blackish"}),
        [
            (text("qt-slider-colours=1;2;3;153;0;0"), {"type": "blackish"}),
            (text(""), {"type": "blackish"}),
            (text("qt-slider-colours=x"), {"type": "blackish"}),
        ],
    ),
    "check_config_status": (
        (text('# x\n(theme "Dark")'), {"key": "theme", "value": '"Dark"'}),
        [
            (text('#(theme "Dark")'), {"key": "theme", "value": '"Dark"'}),
            (text('(theme "Light")'), {"key": "theme", "value": '"Dark"'}),
            (None, {"key": "a", "value": ""}),
        ],
    ),
    "check_thunderbird_prefs": (
        (
            prefs(mark="true", n="5"),
            {
                "expect": {"mark": {"method": "eq", "ref": True}},
                "unexpect": {"n": {"method": "eq", "ref": 4}},
            },
        ),
        [
            (prefs(n="5"), {"expect": {"mark": {"method": "eq", "ref": True}}}),
            (prefs(n="4"), {"unexpect": {"n": {"method": "eq", "ref": 4}}}),
            (None, {}),
        ],
    ),
    "check_thunderbird_filter": (
        (
            text(FILTER),
            {"expect": [{"enabled": "yes", "condition": ["AND (subject,contains,tax)"]}]},
        ),
        [
            (text(FILTER.replace("yes", "no")), {"expect": [{"enabled": "yes"}]}),
            (text(""), {"expect": [{"enabled": "yes"}]}),
            (text(FILTER), {"unexpect": [{"name": "Mine"}]}),
            (None, {}),
        ],
    ),
    "run_sqlite3": (
        (lambda p: database(p, "ada"), {"sql": "select count(*) from person where name = 'ada'"}),
        [(lambda p: database(p), {"sql": "select count(*) from person"}), (None, {"sql": ""})],
    ),
    "compare_archive": (
        (
            archive({"d/a.txt": b"1", "d/b.txt": b"2", "x": b""}),
            archive({"d/b.txt": b"2", "d/a.txt": b"1"}),
        ),
        [
            (archive({"d/a.txt": b"1"}), archive({"d/a.txt": b"1", "d/b.txt": b"2"})),
            (archive({"d/a": b"1"}), archive({"d/a": b"2"})),
            (None, archive({})),
        ],
        {"file_path": "d", "file_type": "text"},
    ),
    "compare_zip_files": (
        (
            archive({"a": b"1", "b.pdf": pdf("Hello").data}),
            archive({"b.pdf": pdf("Hello").data, "a": b"1"}),
        ),
        [
            (archive({"a": b"2"}), archive({"a": b"1"})),
            (archive({"a": b"1", "b": b""}), archive({"a": b"1"})),
            (archive({"b.pdf": pdf("Bye").data}), archive({"b.pdf": pdf("Hello").data})),
            (None, archive({})),
        ],
    ),
    "compare_epub": (
        (
            archive({"toc.ncx": b"a\n<navPoint 1>", "c.html": b"x"}),
            archive({"toc.ncx": b"a\n<navPoint 2>", "c.html": b"x"}),
        ),
        [
            (archive({"c.html": b"y"}), archive({"c.html": b"x"})),
            (archive({}), archive({"c.html": b"x"})),
            (None, archive({"c.html": b"x"})),
        ],
    ),
    "check_pdf_pages": (
        (pdf("a", "b"), {"relation": "eq", "ref_value": 2}),
        [
            (pdf("a"), {"relation": "eq", "ref_value": 2}),
            (None, {"relation": "ge", "ref_value": 0}),
        ],
    ),
    "compare_pdfs": (
        (pdf("Hello"), pdf("Hello")),
        [(pdf("uvw"), pdf("Hello")), (None, pdf("Hello"))],
    ),
}


def coloured(pixels):
    return picture(np.clip(pixels, 0, 255).astype(np.uint8))


def triangle(at):
    pixels = np.full((60, 60, 3), 255, np.uint8)
    pixels[at : at + 10, at : at + 10] = (255, 255, 0)
    return picture(pixels)


def green(share):
    pixels = np.zeros((20, 20, 3), np.uint8)
    pixels[:, : int(20 * share)] = (10, 200, 20)
    return picture(pixels)


PLAIN = picture()
FLAT = picture((90, 120, 60))
FULL = texture().astype(float)
GREY = FULL.mean(axis=2, keepdims=True)
IMAGES = {
    "compare_images": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (None, PLAIN), (picture((0, 0, 0), size=(3, 3)), PLAIN)],
    ),
    "compare_image_list": (
        ([PLAIN, FLAT], [PLAIN, FLAT]),
        [([FLAT, PLAIN], [PLAIN, FLAT]), ([PLAIN, None], [PLAIN, FLAT]), ([PLAIN], [PLAIN, FLAT])],
    ),
    "check_structure_sim": (
        (coloured(FULL + 1), PLAIN),
        [(FLAT, PLAIN), (picture(texture((41, 30))), PLAIN), (None, PLAIN)],
    ),
    "check_file_exists_and_structure_sim": ((PLAIN, PLAIN), [(FLAT, PLAIN), (None, PLAIN)]),
    "check_structure_sim_with_threshold": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (None, PLAIN)],
        {"ssim_threshold": 0.8},
    ),
    "check_structure_sim_resized": (
        (PLAIN, PLAIN),
        [(FLAT, PLAIN), (picture((0, 0, 0, 0), mode="RGBA"), PLAIN), (None, PLAIN)],
    ),
    "check_image_mirror": (
        (coloured(FULL[:, ::-1]), PLAIN),
        [(PLAIN, PLAIN), (coloured(FULL[::-1]), PLAIN), (None, PLAIN)],
    ),
    "check_palette_and_structure_sim": (
        (picture(palette=True), PLAIN),
        [(PLAIN, PLAIN), (picture((90, 120, 60), palette=True), PLAIN), (None, PLAIN)],
    ),
    "check_brightness_decrease_and_structure_sim": (
        (coloured(FULL * 0.6), PLAIN),
        [
            (PLAIN, PLAIN),
            (coloured(FULL * 1.2), PLAIN),
            (coloured((255 - FULL) * 0.4), PLAIN),
            (picture((0, 0, 0)), PLAIN),
            (None, PLAIN),
        ],
    ),
    "check_saturation_increase_and_structure_sim": (
        (PLAIN, coloured(GREY + (FULL - GREY) * 0.97)),
        [(PLAIN, PLAIN), (FLAT, PLAIN), (None, PLAIN)],
    ),
    "check_contrast_increase_and_structure_sim": (
        (PLAIN, coloured(128 + (FULL - 128) * 0.7)),
        [
            (coloured(128 + (FULL - 128) * 0.7), PLAIN),
            (coloured(FULL[::-1, ::-1] * 2 - 128), PLAIN),
            (None, PLAIN),
        ],
    ),
    "check_green_background": (
        (green(1), green(0.5)),
        [(green(0.2), green(0.5)), (picture((0, 200, 0)), green(1)), (None, green(1))],
    ),
    "check_triangle_position": ((triangle(25),), [(triangle(2),), (picture((9, 9, 9)),), (None,)]),
    "check_textbox_on_leftside": (
        (coloured(np.where(np.arange(40)[None, :, None] < 1, 0, 255) * np.ones((30, 1, 3))),),
        [
            (coloured(np.where(np.arange(40)[None, :, None] > 30, 0, 255) * np.ones((30, 1, 3))),),
            (picture((255, 255, 255)),),
            (None,),
        ],
    ),
    "check_image_size": (
        (PLAIN, {"width": 40, "height": 30}),
        [
            (PLAIN, {"width": 30}),
            (picture((0, 0, 0, 0), mode="RGBA"), {"height": 30, "ignore_transparent": True}),
            (None, {}),
        ],
    ),
    "check_image_file_size": (
        (PLAIN, {"max_size": 100_000}),
        [(PLAIN, {"max_size": 10}), (None, {"max_size": 9})],
    ),
}


def cases():
    for name, (right, wrong, *options) in {**VALUES, **TEXTS, **IMAGES}.items():
        yield pytest.param(name, right, wrong, options[0] if options else {}, id=name)


def laid(arguments, folder):
    """Lay the files of some arguments in folders and return the arguments with paths."""
    made = []
    for at, one in enumerate(arguments):
        if isinstance(one, File):
            one = one.lay(folder / str(at))
        elif isinstance(one, list) and any(isinstance(each, File) for each in one):
            one = [each and each.lay(folder / f"{at}-{n}") for n, each in enumerate(one)]
        elif callable(one):
            folder.mkdir(parents=True, exist_ok=True)
            one = one(folder)
        made.append(one)
    return made


def score(name, arguments, folder, **options):
    module = importlib.import_module(f"agentgym.formats.osworld.metrics.{registry.MODULES[name]}")
    return getattr(module, name)(*laid(arguments, folder), **options)


@pytest.mark.parametrize(("name", "right", "wrong", "options"), list(cases()))
def test_a_metric_accepts_what_is_right_and_refuses_what_is_wrong(
    name, right, wrong, options, tmp_path, monkeypatch
):
    if name in ("check_pdf_pages", "compare_pdfs", "compare_zip_files"):
        pytest.importorskip("pypdf")
    monkeypatch.chdir(tmp_path)
    assert score(name, right, tmp_path / "right", **options) == pytest.approx(1.0)
    for at, one in enumerate(wrong):
        assert score(name, one, tmp_path / f"wrong{at}", **options) < 0.7, f"{name}: {one}"


# --- workbooks ---

ROWS = [["city", "n"], ["Bonn", 1.00001], ["Köln", 2]]


def table(name, seen, wanted, tmp_path, *rules):
    return score("compare_table", (seen, wanted), tmp_path / name, rules=list(rules))


def pair(kind, **more):
    return {"type": kind, "sheet_idx0": 0, "sheet_idx1": "EI0", **more}


def test_sheets_are_equal_in_their_values(tmp_path):
    gold, rule = book({"S": ROWS}), pair("sheet_data")
    empty = book({"S": [[*row, None] for row in ROWS] + [[None, None], ["", None]]})
    assert table("same", empty, gold, tmp_path, rule) == 1
    wrong = {
        "number": [["city", "n"], ["Bonn", 1.1], ["Köln", 2]],
        "text": [["city", "n"], ["Bonn", "1"], ["Köln", 2]],
        "truth": [["city", "n"], ["Bonn", True], ["Köln", 2]],
        "order": [ROWS[0], ROWS[2], ROWS[1]],
        "fewer": ROWS[:2],
        "more": [*ROWS, ["Ulm", 3]],
        "wider": [[*row, "x"] for row in ROWS],
        "formula": [["city", "n"], ["Bonn", "=1"], ["Köln", 2]],
    }
    for name, rows in wrong.items():
        assert table(name, book({"S": rows}), gold, tmp_path, rule) == 0, name
    assert table("none", None, gold, tmp_path, rule) == 0


def test_sheets_are_named_by_place_and_name(tmp_path):
    seen, gold = book({"A": [[1]], "B": [[2]]}), book({"X": [[2]], "Y": [[1]]})
    by_name = {"type": "sheet_data", "sheet_idx0": "RNB", "sheet_idx1": "ENX"}
    by_place = {"type": "sheet_data", "sheet_idx0": "RI0", "sheet_idx1": "EI1"}
    assert table("right", seen, gold, tmp_path, by_name, by_place) == 1
    assert table("absent", seen, gold, tmp_path, {**by_name, "sheet_idx0": "RNC"}) == 0
    assert table("swapped", seen, gold, tmp_path, {**by_name, "sheet_idx0": "RNA"}) == 0
    assert table("names", seen, gold, tmp_path, {"type": "sheet_name"}) == 0
    assert table("equal", seen, seen, tmp_path, {"type": "sheet_name"}) == 1


def test_sheets_are_equal_as_printed(tmp_path):
    seen = book({"S": ROWS}, beside={"book-S.csv": b"Bonn,1.00\n\n"})
    gold = book({"S": [["x"]]}, beside={"book-S.csv": b"bonn,1.00\n"})
    assert table("case", seen, gold, tmp_path, pair("sheet_print", ignore_case=True)) == 1
    assert table("strict", seen, gold, tmp_path, pair("sheet_print")) == 0
    with pytest.raises(FileNotFoundError):
        table("absent", book({"S": ROWS}), gold, tmp_path, pair("sheet_print"))


def test_ranges_are_compared_as_texts(tmp_path):
    seen, gold = book({"S": [["12 Main Rd", "+49 1"]]}), book({"S": [["12 Main Road", "491"]]})
    rules = [
        {"range": ["A1:A1"], "type": "exact_match", "normalization": [["Rd", "Road"]]},
        {"range": ["B1"], "type": "exact_match", "trim_leadings": "+", "ignore_chars": " "},
    ]
    assert table("plain", seen, gold, tmp_path, pair("sheet_fuzzy", rules=rules)) == 1
    fuzzy = [{"range": ["A1"], "type": "fuzzy_match", "threshold": 95}]
    assert table("far", seen, gold, tmp_path, pair("sheet_fuzzy", rules=fuzzy)) == 0
    fuzzy[0]["threshold"] = 85
    assert table("near", seen, gold, tmp_path, pair("sheet_fuzzy", rules=fuzzy)) == 1
    part = [{"range": ["A1"], "type": "included_by"}]
    assert table("part", seen, gold, tmp_path, pair("sheet_fuzzy", rules=part)) == 0


def bold(workbook, colour="FFFF0000"):
    from openpyxl.styles import Font, PatternFill

    cell = workbook["S"]["A1"]
    cell.font, cell.fill = Font(bold=True, color=colour), PatternFill("solid", fgColor=colour)


def test_cells_have_styles_and_values(tmp_path):
    def check(name, made, **props):
        rule = {"type": "check_cell", "sheet_idx": 0, "coordinate": "A1", "props": props}
        return table(name, made, None, tmp_path, rule)

    red, plain = book({"S": [["x"]]}, bold), book({"S": [["x"]]})
    wanted = {
        "value": {"method": "eq", "ref": "x"},
        "bgcolor": {"method": "eq", "ref": "FFFF0000"},
        "font_bold": {"method": "eq", "ref": True},
    }
    assert check("red", red, **wanted) == 1
    assert check("plain", plain, **wanted) == 0
    merged = book({"S": [["x", None]]}, lambda made: made["S"].merge_cells("A1:B1"))
    of_b = {"type": "check_cell", "sheet_idx": 0, "coordinate": "B1"}
    is_merged = {**of_b, "props": {"merge": {"method": "eq", "ref": True}}}
    assert table("merged", merged, None, tmp_path, is_merged) == 1
    assert table("apart", plain, None, tmp_path, is_merged) == 0
    number = {"value": {"method": "approx:0.1", "ref": -3.5}}
    assert check("near", book({"S": [[-3.45]]}), **number) == 1
    assert check("far", book({"S": [[3.5]]}), **number) == 0
    assert check("empty", book({"S": [[None]]}), **number) == 0
    style = pair("style", props=["bgcolor", "font_color"])
    assert table("same style", red, red, tmp_path, style) == 1
    assert table("no style", plain, red, tmp_path, style) == 0
    blue = book({"S": [["x"]]}, lambda made: bold(made, "FF0000FF"))
    assert table("other style", blue, red, tmp_path, style) == 0


def test_conditions_give_cells_a_style(tmp_path):
    from openpyxl.formatting.rule import CellIsRule
    from openpyxl.styles import PatternFill

    def above(limit):
        def change(workbook):
            fill = PatternFill("solid", bgColor="FF00FF00")
            rule = CellIsRule(operator="greaterThan", formula=[str(limit)], fill=fill)
            workbook["S"].conditional_formatting.add("A1:A2", rule)

        return change

    rows, style = {"S": [[1], [5]]}, pair("style", props=["bgcolor"])
    gold = book(rows, above(3))
    assert table("same", book(rows, above(4)), gold, tmp_path, style) == 1
    assert table("all", book(rows, above(0)), gold, tmp_path, style) == 0
    assert table("none", book(rows), gold, tmp_path, style) == 0


def test_charts_filters_and_views_are_compared(tmp_path):
    from openpyxl.chart import BarChart, LineChart, Reference
    from openpyxl.worksheet.datavalidation import DataValidation

    def chart(kind, title="T", column=2):
        def change(workbook):
            made = kind()
            made.title = title
            made.add_data(Reference(workbook["S"], min_col=column, min_row=1, max_row=3))
            workbook["S"].add_chart(made, "E1")

        return book({"S": ROWS}, change)

    rule = pair("chart", chart_props=["type", "title"])
    assert table("same", chart(BarChart), chart(BarChart), tmp_path, rule) == 1
    assert table("kind", chart(LineChart), chart(BarChart), tmp_path, rule) == 0
    assert table("title", chart(BarChart, "U"), chart(BarChart), tmp_path, rule) == 0
    assert table("data", chart(BarChart, column=1), chart(BarChart), tmp_path, rule) == 0
    assert table("no chart", book({"S": ROWS}), chart(BarChart), tmp_path, rule) == 0

    def view(freeze=None, hidden=False, zoom=100, choices=None, filtered=None):
        def change(workbook):
            sheet = workbook["S"]
            sheet.freeze_panes = freeze
            sheet.row_dimensions[2].hidden = hidden
            sheet.sheet_view.zoomScale = zoom
            if choices:
                validation = DataValidation("list", formula1=f'"{choices}"')
                validation.add("B2:B3")
                sheet.add_data_validation(validation)
            sheet.auto_filter.ref = filtered

        return book({"S": ROWS}, change)

    assert table("frozen", view("B2"), view("B2"), tmp_path, pair("freeze")) == 1
    assert table("thawed", view(), view("B2"), tmp_path, pair("freeze")) == 0
    rows = pair("row_props", props=["hidden"])
    assert table("hidden", view(hidden=True), view(hidden=True), tmp_path, rows) == 1
    assert table("shown", view(), view(hidden=True), tmp_path, rows) == 0
    zoom = {"type": "zoom", "sheet_idx": 0, "method": "lt", "ref": 150}
    assert table("small", view(zoom=120), None, tmp_path, zoom) == 1
    assert table("large", view(zoom=200), None, tmp_path, zoom) == 0
    props = {
        "ranges": {"method": "spreadsheet_range", "ref": ["B2:B3", "B1:B9"]},
        "formula1": {"method": "str_set_eq", "ref": ["b", "a"]},
    }
    valid = {"type": "data_validation", "sheet_idx": 0, "dv_props": [props]}
    assert table("valid", view(choices="a,b"), None, tmp_path, valid) == 1
    assert table("fewer choices", view(choices="a"), None, tmp_path, valid) == 0
    assert table("no choices", view(), None, tmp_path, valid) == 0
    assert (
        table("filter", view(filtered="A1:B3"), view(filtered="A1:B3"), tmp_path, pair("filter"))
        == 1
    )
    assert table("no filter", view(), view(filtered="A1:B3"), tmp_path, pair("filter")) == 0


def test_an_unknown_rule_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="no rule 'colour'"):
        table("x", book({"S": ROWS}), None, tmp_path, {"type": "colour"})


def test_cities_are_in_order(tmp_path):
    names = [f"Town {at}" for at in range(21)]
    right = book({"S": [["a", "b", "c"]] + [["", "", f"{name.upper()}, Land"] for name in names]})
    given = {"expected": [[name, "x"] for name in names]}
    assert score("compare_conference_city_in_order", (right, given), tmp_path / "1") == 1
    wrong = {"expected": [*names[:20], "Ulm"]}
    assert score("compare_conference_city_in_order", (right, wrong), tmp_path / "2") == 0
    assert score("compare_conference_city_in_order", (None, given), tmp_path / "3") == 0


# --- documents ---


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


# --- presentations ---


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


# --- the whole ---


def test_every_metric_is_there_and_tested():
    for name, module in registry.MODULES.items():
        made = importlib.import_module(f"agentgym.formats.osworld.metrics.{module}")
        assert callable(getattr(made, name))
    others = ("documents", "presentations", "slides", "tables")
    elsewhere = {n for n, m in registry.MODULES.items() if m in others}
    assert {*VALUES, *TEXTS, *IMAGES} == registry.MODULES.keys() - elsewhere


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("", "", 1.0),
        ("a", "", 0.0),
        ("abcd", "abcd", 1.0),
        ("kitten", "sitting", 8 / 13),
        ("ab", "ba", 0.5),
    ],
)
def test_similarity_is_that_of_the_common_subsequence(one, other, expected):
    assert similarity(one, other) == pytest.approx(expected) == similarity(other, one)


@pytest.mark.parametrize(
    ("value", "method", "ref", "expected"),
    [
        ("Hello", "re.I", "^hel+o$", True),
        ("Hello", "re", "^hel+o$", False),
        (None, "re", ".*", False),
        (2, "range.te", [0, 2], True),
        (0, "range.te", [0, 2], False),
        ("x", "lt", 3, False),
        ("191.6670", "approx:0.001", 191.6667, True),
        ("many", "approx:5", 1, False),
        ('"b,a"', "str_set_eq", ["a", "b"], True),
        ('"b,a"', "str_list_eq", ["a", "b"], False),
    ],
)
def test_rules_about_values(value, method, ref, expected):
    assert fits(value, {"method": method, "ref": ref}) is expected


def test_an_unknown_method_is_an_error():
    with pytest.raises(ValueError, match="unknown method 'near'"):
        fits(1, {"method": "near", "ref": 1})


def read(metric, given, files, **options):
    order = {"metric": metric, "given": given, "options": options}
    return ask(READER, order, files, what=metric, timeout_s=20)


def test_the_reader_runs_a_metric_in_a_process_of_its_own():
    gold, rule = book({"S": ROWS}), pair("sheet_data")
    given = [{"file": "a.xlsx"}, {"file": "b.xlsx"}]
    files = {"a.xlsx": gold.data, "b.xlsx": gold.data}
    assert read("compare_table", given, files, rules=[rule]) == 1
    assert read("exact_match", [{"value": "a"}, {"value": {"expected": "b"}}], {}) == 0
    assert read("compare_table", [{"file": None}, {"file": "b.xlsx"}], files, rules=[rule]) == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["bomb", "no archive", "entities", "pixels"])
def test_hostile_files_are_refused(kind):
    bomb = archive({"xl/workbook.xml": b"<a>" + b" " * 300_000_000, "[Content_Types].xml": b""})
    header = PLAIN.data[:16] + (60_000).to_bytes(4, "big") * 2 + PLAIN.data[24:]
    entities = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(12))
    laughs = f'<!DOCTYPE x [<!ENTITY a0 "ha">{entities}]><x>&a12;</x>'
    order = {
        "no archive": ("compare_table", b"not a zip", {"rules": []}),
        "bomb": ("compare_table", bomb.data, {"rules": []}),
        "pixels": ("compare_images", header, {}),
        "entities": ("check_presenter_console_disable", laughs.encode(), {}),
    }
    metric, data, options = order[kind]
    given = [{"file": "seen"}] + ([{"file": "gold"}] if kind == "pixels" else [])
    with pytest.raises(GuestFileError):
        read(metric, given, {"seen": data, "gold": PLAIN.data}, **options)


def test_no_program_of_the_host_draws_a_picture(tmp_path, monkeypatch):
    """Pillow has Ghostscript draw PostScript, in which an agent can write programs."""
    from PIL import EpsImagePlugin, UnidentifiedImageError

    ran = tmp_path / "ran"
    (tmp_path / "gs").write_text(f"#!/bin/sh\ntouch {ran}\necho 10.0\n")
    (tmp_path / "gs").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    drawn = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 30\n%%EndComments\nshowpage\n%%EOF\n"
    with pytest.raises(UnidentifiedImageError):
        score("compare_images", (File("seen.png", drawn), PLAIN), tmp_path / "files")
    assert not ran.exists()


def test_a_value_nested_too_deeply_is_no_value():
    """A value that the getters can parse may be too deep for the question to the reader."""
    for depth in range(940, 1010, 3):
        value = []
        for _ in range(depth):
            value = [value]
        rule = {"value": {"expected": "a"}}
        with contextlib.suppress(GuestFileError):
            assert read("exact_match", [{"value": value}, rule], {}) == 0


@pytest.mark.parametrize("name", ["../x", "/tmp/agentgym-x", "a/b", "", ".", "..", "a\0b"])
def test_files_lie_in_the_folder_of_the_reader_only(name):
    with pytest.raises(ValueError, match="name of a file"):
        read("exact_match", [{"value": 1}, {"value": {"expected": 1}}], {name: b""})
