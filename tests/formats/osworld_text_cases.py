"""Right and wrong files for the metrics of texts, settings and archives."""

import sqlite3

from osworld_files import archive, as_json, pdf, text

FILTER = (
    'name="Mine"\nenabled="yes"\naction="Move to folder"\ncondition="AND (subject,contains,tax)"\n'
)


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
