"""The pack `files`, over files in memory that an agent could have left."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentgym.errors import GuestFileError, VerifierError
from agentgym.records import CheckResult, CheckStatus
from agentgym.testing.checks import Device, Entry, File, Folder, Link, evidence
from agentgym.verify.rubric.packs import load_pack

PACK = load_pack(Path(__file__).parents[2] / "verifiers" / "files")
Files = Mapping[str, Entry | bytes | str]

AFTER: Files = {
    "/srv/report.txt": "  10.0.0.7\n",
    "/srv/lines.txt": "ada\ngrace\nada\n",
    "/srv/empty.txt": "",
    "/srv/latin.txt": b"caf\xe9",
    "/srv/nul.txt": b"a\0b",
    "/srv/data.json": '{"errors": 3, "ok": true, "hosts": ["web-1", null], "mean": 1.5}',
    "/srv/secret.key": File(b"k", 0o640),
    "/srv/shared": Folder(0o2775),
    "/srv/link": Link("report.txt"),
    "/srv/dangling": Link("nothing"),
    "/srv/loop": Link("loop"),
    "/srv/fifo": Device(),
    "/srv/long.txt": "x" * 2**21,
    "/srv/deep.json": "[" * 200_000 + "]" * 200_000,
    "/srv/digits.json": "1" * 10_000,
}


def run(check: str, arguments: Mapping[str, Any], after: Files = AFTER, **more: Any) -> CheckResult:
    """Run a check; GuestFileError is a fail, as it is in grading."""
    try:
        result = PACK.checks[check](evidence(after, **more), **arguments)
    except GuestFileError as error:
        return CheckResult(CheckStatus.FAIL, str(error))
    assert isinstance(result, CheckResult)
    return result


PASSES: list[tuple[str, dict[str, Any]]] = [
    ("exists", {"path": "/srv/report.txt"}),
    ("exists", {"path": "/srv/shared", "kind": "dir"}),
    ("exists", {"path": "/srv/link", "kind": "file"}),
    ("exists", {"path": "/srv/link", "kind": "link"}),
    ("exists", {"path": "/srv/dangling", "kind": "link"}),
    ("absent", {"path": "/srv/none"}),
    ("text_equals", {"path": "/srv/report.txt", "text": "10.0.0.7"}),
    ("text_equals", {"path": "/srv/report.txt", "text": "  10.0.0.7\n", "strip": False}),
    ("text_equals", {"path": "/srv/empty.txt", "text": ""}),
    ("contains", {"path": "/srv/report.txt", "text": "0.0"}),
    ("contains", {"path": "/srv/data.json", "text": 1.5}),
    ("matches", {"path": "/srv/lines.txt", "pattern": "^gra.e$"}),
    ("json_equals", {"path": "/srv/data.json", "value": {"mean": 1.5, "ok": True, "errors": 3.0,
                                                         "hosts": ["web-1", None]}}),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "grace", "ada"]}),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "ada", "grace"],
                     "any_order": True}),
    ("lines_equal", {"path": "/srv/empty.txt", "lines": []}),
    ("mode", {"path": "/srv/secret.key", "mode": "0640"}),
    ("mode", {"path": "/srv/secret.key", "mode": "640"}),
    ("mode", {"path": "/srv/shared", "mode": "2775"}),
    ("sha256", {"path": "/srv/secret.key", "digest": hashlib.sha256(b"k").hexdigest()}),
]  # fmt: skip

FAILS: list[tuple[str, dict[str, Any], str]] = [
    ("exists", {"path": "/srv/none"}, "is not there"),
    ("exists", {"path": "/srv/dangling"}, "is not there"),
    ("exists", {"path": "/srv/report.txt", "kind": "dir"}, "is a file, expected a dir"),
    ("exists", {"path": "/srv/report.txt", "kind": "link"}, "is a file, expected a link"),
    ("absent", {"path": "/srv/dangling"}, "is a link, expected nothing"),
    ("text_equals", {"path": "/srv/report.txt", "text": "10.0.0.70"}, "expected '10.0.0.70'"),
    ("text_equals", {"path": "/srv/report.txt", "text": "10.0.0.7", "strip": False}, "got '  10"),
    ("text_equals", {"path": "/srv/lines.txt", "text": "ada\ngrace"}, "expected 2 lines; line 3"),
    ("text_equals", {"path": "/srv/lines.txt", "text": "ada\ngrace\nada\neve"}, "ends after 3"),
    ("text_equals", {"path": "/srv/none", "text": ""}, "No such file"),
    ("text_equals", {"path": "/srv/latin.txt", "text": "café"}, "not UTF-8 text (byte 3)"),
    ("text_equals", {"path": "/srv/shared", "text": ""}, "not a regular file"),
    ("text_equals", {"path": "/srv/fifo", "text": ""}, "not a regular file"),
    ("text_equals", {"path": "/srv/loop", "text": ""}, "No such file"),
    ("text_equals", {"path": "/srv/long.txt", "text": "x"}, "bytes"),
    ("contains", {"path": "/srv/nul.txt", "text": "ab"}, r"it holds 'a\x00b'"),
    ("contains", {"path": "/srv/long.txt", "text": "x"}, "bytes"),
    ("matches", {"path": "/srv/lines.txt", "pattern": "^a$"}, "nothing matches '^a$'"),
    ("matches", {"path": "/srv/long.txt", "pattern": "x"}, "bytes"),
    ("json_equals", {"path": "/srv/report.txt", "value": 10}, "is not JSON"),
    ("json_equals", {"path": "/srv/empty.txt", "value": None}, "is not JSON"),
    ("json_equals", {"path": "/srv/deep.json", "value": []}, "is not JSON"),
    ("json_equals", {"path": "/srv/digits.json", "value": 1}, "is not JSON"),
    ("json_equals", {"path": "/srv/data.json", "value": {"errors": 3}}, "has unexpected key"),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "eve", "ada"]}, "line 2: expected"),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "ada", "grace"]}, "line 2"),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "grace"], "any_order": True},
     "has too many 1 lines, e.g. 'ada'"),
    ("lines_equal", {"path": "/srv/lines.txt", "lines": ["ada", "eve", "ada"], "any_order": True},
     "lacks 1 lines, e.g. 'eve'; has too many 1 lines, e.g. 'grace'"),
    ("lines_equal", {"path": "/srv/empty.txt", "lines": [""]}, "ends after 0 lines"),
    ("mode", {"path": "/srv/secret.key", "mode": "0600"}, "has mode 0640, expected 0600"),
    ("mode", {"path": "/srv/shared", "mode": "0775"}, "has mode 2775, expected 0775"),
    ("mode", {"path": "/srv/none", "mode": "0600"}, "is not there"),
    ("sha256", {"path": "/srv/secret.key", "digest": "0" * 64}, "expected 000"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "arguments"), PASSES)
def test_what_is_as_it_should_be_passes(check: str, arguments: dict[str, Any]) -> None:
    result = run(check, arguments)
    assert result.status is CheckStatus.PASS, result.message


@pytest.mark.parametrize(("check", "arguments", "says"), FAILS)
def test_what_is_not_fails_and_says_what_was_seen(
    check: str, arguments: dict[str, Any], says: str
) -> None:
    result = run(check, arguments)
    assert result.status is CheckStatus.FAIL
    assert says in result.message
    assert arguments["path"] in result.message
    assert len(result.message) < 400


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", 1),
        ("1", True),
        ("0", False),
        ("null", False),
        ('"1"', 1),
        ("[]", {}),
        ("{}", []),
        ("NaN", 0),
        ("[1, true]", [1, 1]),
        ('{"a": [{"b": 1}]}', {"a": [{"b": 2}]}),
        ("[1, 2]", [1]),
    ],
)
def test_json_of_another_type_or_value_is_not_equal(text: str, value: object) -> None:
    result = run("json_equals", {"path": "/j", "value": value}, {"/j": text})
    assert result.status is CheckStatus.FAIL


def test_a_json_difference_is_located() -> None:
    result = run(
        "json_equals", {"path": "/j", "value": {"a": [0, {"b": 2}]}}, {"/j": '{"a":[0,{"b":3}]}'}
    )
    assert result.message == "/j: .a[1].b: expected '2', got '3'"


# --- gold -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"a\nb\n", ""),
        (b"a\nc\n", "at byte 2 (line 2)"),
        (b"a\nb", "has 3 bytes, expected 4"),
        (Folder(), "is a dir"),
    ],
)
def test_gold_files_are_compared_byte_for_byte(content: bytes | Folder, says: str) -> None:
    arguments = {"path": "/f", "gold": "clean"}
    result = run("gold_equals", arguments, {"/f": content}, gold={"clean": b"a\nb\n"})
    assert (result.status is CheckStatus.PASS) is (says == "")
    assert says in result.message


def test_a_large_file_is_not_compared_with_gold() -> None:
    files = {"/f": b"x" * 2**27}
    result = run("gold_equals", {"path": "/f", "gold": "clean"}, files, gold={"clean": b"a\nb\n"})
    assert result.status is CheckStatus.FAIL
    assert "bytes, expected 4" in result.message


# --- changes --------------------------------------------------------------------------------

BEFORE: Files = {"/srv/keep/a": "1", "/srv/keep/b": "1", "/srv/x.log": "1", "/srv/y.txt": "1"}


def changed(check: str, paths: list[str], **after: str | None) -> CheckResult:
    files = {**BEFORE, **{path: text for path, text in after.items() if text is not None}}
    gone = [path for path, text in after.items() if text is None]
    left = {path: entry for path, entry in files.items() if path not in gone}
    return run(check, {"paths": paths}, left, before=BEFORE)


@pytest.mark.parametrize(
    ("paths", "after", "fault"),
    [
        (["/srv/keep", "/srv/*.log"], {"/srv/y.txt": "2", "/srv/new": "x"}, ""),
        (["/srv/keep"], {"/srv/keep/a": "2"}, "'/srv/keep/a' was modified"),
        (["/srv/keep"], {"/srv/keep/a": None}, "'/srv/keep/a' was deleted"),
        (["/srv/keep"], {"/srv/keep/new": "x"}, "'/srv/keep/new' was added"),
        (["/srv/keep/**"], {"/srv/keep/a": "2"}, "was modified"),
        (["/srv/*.log"], {"/srv/x.log": "2"}, "was modified"),
        (["/srv/*.log"], {"/srv/sub/x.log": "2"}, ""),
        (["/srv/kee"], {"/srv/keep/a": "2"}, ""),
    ],
)
def test_unchanged(paths: list[str], after: dict[str, str | None], fault: str) -> None:
    result = changed("unchanged", paths, **after)
    assert (result.status is CheckStatus.PASS) is (fault == "")
    assert fault in result.message


@pytest.mark.parametrize(
    ("paths", "after", "fault"),
    [
        ([], {}, ""),
        (["/srv/y.txt"], {"/srv/y.txt": "2"}, ""),
        (["/srv/y.txt"], {"/srv/y.txt": "2", "/srv/x.log": None}, "'/srv/x.log' was deleted"),
        (["/srv/out/**"], {"/srv/out/a/b": "x"}, ""),
        (["/srv/out/a/b"], {"/srv/out/a/b": "x"}, "2 paths that nothing asked for"),
        (["/srv"], {"/srv/y.txt": "2"}, "'/srv/y.txt' was modified"),
    ],
)
def test_only_changed(paths: list[str], after: dict[str, str | None], fault: str) -> None:
    result = changed("only_changed", paths, **after)
    assert (result.status is CheckStatus.PASS) is (fault == "")
    assert fault in result.message


def test_a_thousand_side_effects_make_a_short_message() -> None:
    after = {f"/srv/{'n' * 250}{i}": "x" for i in range(1000)}
    result = changed("only_changed", [], **after)
    assert result.message.startswith("1000 paths")
    assert len(result.message) < 600


def test_a_new_folder_that_everybody_may_write_to() -> None:
    for mode, passes in ((0o777, False), (0o1777, True), (0o775, True)):
        left = {**BEFORE, "/srv/log": Folder(mode)}
        result = run("rest_kept", {"paths": ["/srv/log/**"]}, left, before=BEFORE)
        assert (result.status is CheckStatus.PASS) is passes


@pytest.mark.parametrize(
    ("path", "mode", "fault"),
    [
        ("/srv/fix-share", 0o755, ""),
        ("/srv/fix-share", 0o777, "'/srv/fix-share' is open to all"),
        ("/srv/new/list.txt", 0o666, "is open to all"),
        ("/tmp/scratch", 0o666, ""),
        ("/var/tmp/scratch", 0o666, ""),
    ],
)
def test_a_new_file_that_everybody_may_write_to(path: str, mode: int, fault: str) -> None:
    left = {**BEFORE, path: File(b"x", mode)}
    result = run("rest_kept", {"paths": ["/srv/fix-share"]}, left, before=BEFORE)
    assert (result.status is CheckStatus.PASS) is (fault == "")
    assert fault in result.message


# --- the rubric's own mistakes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "arguments"),
    [
        ("exists", {"path": "/x", "kind": "folder"}),
        ("matches", {"path": "/x", "pattern": "("}),
        ("mode", {"path": "/x", "mode": "rw-"}),
        ("sha256", {"path": "/x", "digest": "abc"}),
        ("gold_equals", {"path": "/x", "gold": "none"}),
    ],
)
def test_arguments_that_cannot_be_meant_are_errors(check: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(VerifierError):
        run(check, arguments)
