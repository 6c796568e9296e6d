"""Reading structured text: what each format means, and every trap a fail within bounds."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.errors import GuestFileError, VerifierError
from agentgym.verify.documents import (
    DEFAULT_BYTES,
    FORMATS,
    MOST_BYTES,
    check_pointer,
    format_of,
    parse,
    pointed,
)

yaml = pytest.importorskip("yaml")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

LAUGHS = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGES = "a0: &a0 {" + ",".join(f"k{i}: {i}" for i in range(10)) + "}\n"
MERGES += "".join(f"a{i}: &a{i} {{<<: [{','.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 12))
ENTITIES = '<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;">]><a>&y;</a>'

TRAPS: list[tuple[str, bytes, str]] = [
    ("json", b'{"a": 1, "a": 2}', "key 'a' is there twice"),
    ("json", b"[NaN]", "NaN is not a JSON number"),
    ("json", b"-Infinity", "-Infinity is not a JSON number"),
    ("json", b"1e999", "inf is not a JSON number"),
    ("json", b"1" * 9_999, "digits"),
    ("json", b"[" * 500_000, "recursion"),
    ("json", b"[" * 62 + b"]" * 62, "nested deeper"),
    ("json", b"[" + b"1," * 300_000 + b"1]", "more than 200000 values"),
    ("json", b"\xef\xbb\xbf{}", "byte order mark"),
    ("json", b"\xff\xfe{\0}\0", "not UTF-8"),
    ("json", b"{} {}", "Extra data"),
    ("json", b"", "Expecting value"),
    ("jsonl", b'{"a": 1}\n{"a": 1, "a": 2}\n', "there twice"),
    ("yaml", LAUGHS.encode(), "more than 200000 values"),
    ("yaml", MERGES.encode(), "mapping of more than 5000 keys"),
    ("yaml", b"a: &a [*a]", "nested deeper"),
    ("yaml", b"a: 1\na: 2", "there twice"),
    ("yaml", b"8080: x\n'8080': y", "there twice"),
    ("yaml", b"? [1, 2]\n: 3", "unhashable"),
    ("yaml", b"a: 2024-99-99", "month must be"),
    ("yaml", b"!!python/object/apply:os.system [id]", "could not determine a constructor"),
    ("yaml", b"a: !!int ''", "index out of range"),
    ("yaml", b"a: 0x" + b"f" * 20_000, "digits"),
    ("yaml", b"a: " + b"1:" * 100_000 + b"1", "digits"),
    ("yaml", b"a: .nan", "nan is not a JSON number"),
    ("yaml", b"b: !!binary aGk=", "type bytes"),
    ("yaml", b"[" * 100_000, "recursion"),
    ("yaml", b"- 1\n--- 2\n", "single document"),
    ("toml", b"a." * 100_000 + b"b = 1", "a key of more than 60 parts"),
    ("toml", b"a = {" + b'"a".' * 60_000 + b"b = 1}", "a key of more than 60 parts"),
    ("toml", b"a = 0x" + b"f" * 20_000, "64 bits"),
    ("toml", b"a = inf", "inf is not a JSON number"),
    ("toml", b"a = 1\na = 2", "Cannot overwrite"),
    ("toml", b"a = " + b"[" * 100_000, "recursion"),
    ("xml", ENTITIES.encode(), "document type"),
    ("xml", b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "document type"),
    ("xml", b"<a>" * 100, "nested deeper"),
    ("xml", b"<a>&b;</a>", "undefined entity"),
    ("xml", b"<a><b></a>", "mismatched"),
    ("xml", b'<?xml version="1.0" encoding="utf-16"?><a/>', "encoding"),
    ("csv", b'a,b\n"1,2\n', "unexpected end"),
    ("csv", b'a,"b"c\n', "expected after"),
    ("csv", b"x" * 200_000, "field larger"),
    ("csv", b"," * 900_000, "more than 200000 values"),
]


@pytest.mark.parametrize(("kind", "data", "says"), TRAPS, ids=range(len(TRAPS)))
@pytest.mark.timeout(20)
def test_every_trap_is_a_fail(kind: str, data: bytes, says: str) -> None:
    with pytest.raises(GuestFileError) as caught:
        parse(data, kind, "/srv/f")
    assert says in str(caught.value)
    assert len(str(caught.value)) < 400


MEANT: list[tuple[str, str, Any]] = [
    ("json", '{"a": [1, 2.5, true, null, "é"]}', {"a": [1, 2.5, True, None, "é"]}),
    ("jsonl", '{"a": 1}\n\n[2]\n', [{"a": 1}, [2]]),
    ("yaml", "a: yes\nb: '010'\nc: 2024-01-02\nd: ~\n1: x", 
     {"a": True, "b": "010", "c": "2024-01-02", "d": None, "1": "x"}),
    ("yaml", "base: &b {x: 1}\nown: {<<: *b, y: 2}",
     {"base": {"x": 1}, "own": {"x": 1, "y": 2}}),
    ("yaml", "a: &a {x: 1}\nb: &b {<<: *a, x: 2}\nc: {<<: *b}\nd: *b",
     {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 2}, "d": {"x": 2}}),
    ("yaml", "", None),
    ("toml", "a.b = 1\nd = 1979-05-27", {"a": {"b": 1}, "d": "1979-05-27"}),
    ("csv", 'name,n\r\n"a, b",1\r\n\r\n', [["name", "n"], ["a, b", "1"]]),
    ("csv", 'a,"x\ny"\n', [["a", "x\ny"]]),
    ("tsv", "a\tb,c\n", [["a", "b,c"]]),
    ("xml", '<r><h id="1">web</h><h/><n>3</n> t </r>',
     {"r": {"h": [{"@id": "1", "#text": "web"}, ""], "n": "3", "#text": "t"}}),
    ("xml", '<n:r xmlns:n="u"><n:b>x</n:b></n:r>', {"r": {"b": "x"}}),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "value"), MEANT)
def test_what_a_format_means(kind: str, text: str, value: Any) -> None:
    assert parse(text.encode(), kind, "/f") == value


@given(JSON)
def test_json_and_yaml_read_back_what_was_written(value: Any) -> None:
    assert parse(json.dumps(value).encode(), "json", "/f") == value
    written = yaml.safe_dump(value, allow_unicode=False)
    assert parse(written.encode(), "yaml", "/f") == value


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=4)))
def test_csv_reads_back_what_was_written(rows: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out).writerows(rows)
    data = out.getvalue()
    if not data.startswith("\ufeff"):
        assert parse(data.encode(), "csv", "/f") == rows


@given(st.binary(max_size=200), st.sampled_from(FORMATS))
def test_any_bytes_are_a_document_or_a_fail(data: bytes, kind: str) -> None:
    with contextlib.suppress(GuestFileError):
        parse(data, kind, "/f")


@given(st.text(alphabet="<>&;/a!-[]{}:,'\"*#|\n \t=.", max_size=60), st.sampled_from(FORMATS))
def test_any_punctuation_is_a_document_or_a_fail(text: str, kind: str) -> None:
    with contextlib.suppress(GuestFileError):
        parse(text.encode(), kind, "/f")


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        # The examples of RFC 6901, section 5.
        ("", None), ("/foo", ["bar", "baz"]), ("/foo/0", "bar"), ("/", 0), ("/a~1b", 1),
        ("/c%d", 2), ("/e^f", 3), ("/g|h", 4), ("/i\\j", 5), ('/k"l', 6), ("/ ", 7), ("/m~0n", 8),
    ],
)  # fmt: skip
def test_pointers_lead_where_the_standard_says(pointer: str, found: Any) -> None:
    document = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5,
                'k"l': 6, " ": 7, "m~n": 8}  # fmt: skip
    check_pointer(pointer)
    assert list(pointed(document, pointer)) == [document if pointer == "" else found]


@pytest.mark.parametrize("pointer", ["/foo/2", "/foo/-", "/foo/01", "/foo/x", "/bar", "/foo/0/0"])
def test_pointers_that_lead_nowhere(pointer: str) -> None:
    assert list(pointed({"foo": ["bar", "baz"]}, pointer)) == []


@pytest.mark.parametrize("pointer", ["foo", "/a~", "/a~2", 3])
def test_what_is_no_pointer_is_the_authors_mistake(pointer: Any) -> None:
    with pytest.raises(VerifierError, match="JSON Pointer"):
        check_pointer(pointer)


def test_formats_go_by_the_name() -> None:
    assert format_of("/a/b.YML", None) == "yaml"
    assert format_of("/a/config", "toml") == "toml"
    with pytest.raises(VerifierError, match="did you mean 'json'"):
        format_of("/a", "jsn")
    with pytest.raises(VerifierError, match="format of /a/b: expected one of"):
        format_of("/a/b", None)
    assert set(MOST_BYTES) <= set(FORMATS) and max(MOST_BYTES.values()) <= DEFAULT_BYTES
