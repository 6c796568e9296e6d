"""Right and wrong answers to the metrics of values, web pages and settings."""

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
