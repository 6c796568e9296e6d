"""Python of strangers: large texts are told from their words, before a tree is made of them."""

import ast
import subprocess
import sys
import time

import pytest

from agentgym.python_source import MOST_WORDS, LargeSourceError, parse_python
from agentgym.records import PatchAttempt, PatchProblem
from agentgym.swe.detection import find_detection
from agentgym.swe.diagnosis.functions import changed_functions, functions_of
from agentgym.swe.patch import Entry, FileChange, patch_of
from agentgym.swe.scoring.heuristic import HeuristicScorer

BOMB = "a\n" * 1_900_000
HIDDEN = "import sys\nif 'pytest' in sys.modules: answer = 1\n"


def change(after, before=None):
    old = None if before is None else Entry("file", before.encode(), False)
    return patch_of([FileChange("pkg/a.py", old, Entry("file", after.encode(), False))])


@pytest.mark.parametrize("text", [BOMB, "a;" * 1_000_000, "+" * 1_000_000, "x" * 5_000_000])
def test_a_text_of_a_million_statements_is_not_parsed(text):
    began_s = time.monotonic()
    for given in (text, text.encode()):
        with pytest.raises(LargeSourceError):
            parse_python(given)
    assert functions_of(text) == ()
    assert changed_functions("a.py", "def f(): pass\n", "def f(): return 1\n") == {"f"}
    assert time.monotonic() - began_s < 20


def test_the_largest_text_that_is_parsed_takes_little_memory():
    told = (
        "import re\n"
        "from agentgym.python_source import MOST_WORDS, parse_python\n"
        "parse_python('a\\n' * MOST_WORDS)\n"
        # `ru_maxrss` may be that of the process that started this one.
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, check=True)
    assert int(done.stdout) < 700_000, MOST_WORDS


def test_a_large_file_hides_no_code_that_asks_for_the_test_runner():
    assert "too large" in find_detection(change(HIDDEN + BOMB))
    assert "pytest" in find_detection(change(HIDDEN))
    assert find_detection(change(BOMB + "b\n", BOMB)) == "", "it was as large before"
    assert find_detection(change("def f():\n    return 2\n" * 5_000)) == ""


async def test_a_large_file_is_scored_in_seconds():
    problem = PatchProblem("t/a-v1", "f is wrong", {"pkg/a.py": "def f():\n    return 1\n"})
    attempts = [
        PatchAttempt("+a", {"pkg/a.py": text}, False) for text in (BOMB, "def f():\n    return 2\n")
    ]
    began_s = time.monotonic()
    large, small = await HeuristicScorer().score(problem, attempts)
    assert 0 <= large <= small and time.monotonic() - began_s < 20


PILE = "a" + "\u0301" * 50_000 + "\u0323" * 50_000 + " = 1\n"
FIELDS = 'f"""' + " " * 3_500_000 + "{a}" * 60_000 + '"""\n'


@pytest.mark.parametrize(
    "text",
    [
        PILE.encode(),
        PILE,
        FIELDS,
        f"# it's no text\nx = 'it' r{FIELDS}",
        b"# coding: raw_unicode_escape\n" + PILE.encode("raw_unicode_escape"),
        b"# coding: punycode\n#" + b"b" * 1_000_000 + b"-" + b"9a" * 500_000,
        b"#\r# coding: punycode\r#" + b"b" * 1_000_000 + b"-" + b"9a" * 500_000,
        b"# coding: utf-7\nx = 1\n",
    ],
    ids=["bytes", "text", "fields", "comment", "escapes", "punycode", "lines", "utf-7"],
)
def test_what_takes_a_parser_minutes_is_not_parsed(text):
    began_s = time.monotonic()
    with pytest.raises(LargeSourceError):
        parse_python(text)
    assert time.monotonic() - began_s < 20


@pytest.mark.parametrize(
    "source",
    [
        "# coding: cp1252\nnaïve = f'{a}{b}'\n".encode("cp1252"),
        "# coding: shift_jis\nx = '名'\n".encode("shift_jis"),
        b"\xef\xbb\xbfx = 1\r\ny = 2\r",
        b"x = f'''{a}\"{b}''' \"{c}\" # f'{d}\n",
        b"text = f'{a} ' f'{b}'\n" * 3_000,
        b"data = {1: {2: 3}}\n" * 8_000 + b"text = f'{data}'\n",
    ],
)
def test_what_people_write_is_parsed_as_before(source):
    assert ast.dump(parse_python(source)) == ast.dump(ast.parse(source))
