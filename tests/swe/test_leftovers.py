"""Debugging output, secrets and files of tools in a patch are found; the fix is allowed."""

import pytest

from agentgym.swe.leftovers import left_behind
from agentgym.swe.patch import Entry, FileChange, Patch

LIBRARY = b"import sys\n\n\ndef add(a, b):\n    return a + b\n"
COMMAND = b"import sys\n\n\ndef main():\n    print(1)\n    return 0\n"


def told(path, before, after):
    """Return what is told of one changed file."""
    entries = [None if data is None else Entry("file", data) for data in (before, after)]
    return left_behind(Patch((FileChange(path, *entries),)))


def with_line(line):
    return LIBRARY.replace(b"    return a", b"    " + line + b"\n    return a")


@pytest.mark.parametrize(
    "line",
    [
        b"print(a, b)",
        b"print(a, file=sys.stderr)",
        b"sys.stdout.write(str(a))",
        b"breakpoint()",
        b"import pdb; pdb.set_trace()",
        b"__import__('pprint').pprint(a)",
        b"import traceback; traceback.print_stack()",
    ],
)
def test_debugging_output_is_told(line):
    assert told("bell/bus.py", LIBRARY, with_line(line)).startswith("bell/bus.py: ")


def test_an_issue_may_ask_for_a_warning():
    def printing(line):
        entries = [Entry("file", text) for text in (LIBRARY, with_line(line))]
        return left_behind(Patch((FileChange("bell/bus.py", *entries),)), prints=True)

    assert printing(b"print('stale', file=sys.stderr)") == ""
    assert printing(b"breakpoint()").startswith("bell/bus.py: ")


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("bell/bus.py", LIBRARY, with_line(b"sys.audit('x')")),
        ("bell/bus.py", LIBRARY, with_line(b"print(a, file=out)")),
        ("bell/cli.py", COMMAND, COMMAND.replace(b"return 0", b"print(2)\n    return 0")),
        ("bell/table.py", None, COMMAND),
        ("tests/test_bus.py", LIBRARY, with_line(b"print(a)")),
        ("scripts/show.py", LIBRARY, with_line(b"print(a)")),
        ("README.md", b"", b"    print(1)\n"),
        ("bell/bus.py", LIBRARY, b"def print(\n"),
        ("bell/bus.py", COMMAND, None),
    ],
    ids=["other", "file", "command", "new", "test", "script", "document", "broken", "gone"],
)
def test_what_a_fix_may_print_is_left_alone(path, before, after):
    assert told(path, before, after) == ""


def test_a_module_that_got_another_name_prints_as_before():
    changes = (
        FileChange("bell/a.py", Entry("file", COMMAND), None),
        FileChange("bell/b.py", Entry("file", LIBRARY), Entry("file", with_line(b"print(a)"))),
    )
    assert left_behind(Patch(changes)) == ""


@pytest.mark.parametrize(
    "path",
    [
        "bell/bus.py.orig",
        "bell/bus.py.rej",
        "bell/.bus.py.swp",
        "bus.py~",
        "profile.out",
        "nohup.out",
    ]
    + ["run.log", ".env", "core.prof"],
)
def test_files_that_tools_leave_are_told(path):
    assert path in told(path, None, b"what it wrote\n")
    assert told(path, b"was there\n", b"what it wrote\n") == ""


@pytest.mark.parametrize(
    "path", ["bell/out.py", "docs/env.md", "bell/logs.py", "LICENSE", ".envrc.example"]
)
def test_files_of_a_fix_are_not(path):
    assert told(path, None, b"x = 1\n") == ""


KEY = b"-----BEGIN " + b"RSA PRIVATE KEY-----\nMIIEow\n"
TOKENS = [b"ghp_" + b"a1B2" * 9, b"AKIA" + b"ABCD" * 4, b"xoxb-" + b"1234567890-abcdef", KEY]


@pytest.mark.parametrize("token", TOKENS)
def test_secrets_are_told(token):
    assert "secret" in told("docs/setup.md", b"Setup.\n", b"Setup.\n" + token + b"\n")
    assert told("docs/setup.md", token + b"\n", token + b"\nMore.\n") == ""


def test_what_looks_like_a_secret_in_words_is_none():
    assert told("README.md", b"", b"Tokens begin with ghp_, keys with AKIA.\n") == ""
