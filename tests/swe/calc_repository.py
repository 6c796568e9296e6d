"""A small repository with a wrong sum: its files, its fix, its hidden tests, and patches of it."""

from agentgym.swe.patch import Entry, FileChange, patch_of

ROOT = "/srv/calc"
BASE = {
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "calc/__init__.py": "from calc.sums import add, mean\n",
    "calc/sums.py": (
        "def add(a, b):\n    return a - b\n\n\n"
        "def mean(values):\n    return sum(values) / len(values)\n"
    ),
    "tests/test_mean.py": (
        "from calc import mean\n\n\ndef test_mean():\n    assert mean([1, 3]) == 2\n"
    ),
}
FIX = BASE["calc/sums.py"].replace("a - b", "a + b")
HIDDEN = """import unittest

import pytest

from calc import add


@pytest.mark.parametrize("a, b, sum_", [(1, 2, 3), (-1, 1, 0), (0.5, 0.25, 0.75)])
def test_add(a, b, sum_):
    assert add(a, b) == sum_


def test_add_refuses_texts_and_numbers():
    with pytest.raises(TypeError):
        add("1", 2)


class TestAdd(unittest.TestCase):
    def test_zero(self):
        self.assertEqual(add(0, 5), 5)
"""
FAIL = [
    *(f"tests/test_add.py::test_add[{case}]" for case in ("1-2-3", "-1-1-0", "0.5-0.25-0.75")),
    "tests/test_add.py::TestAdd::test_zero",
]
KEEP = [
    "tests/test_add.py::test_add_refuses_texts_and_numbers",
    "tests/test_mean.py::test_mean",
]


def changes(files):
    return patch_of(
        FileChange(path, entry(BASE.get(path)), entry(text)) for path, text in files.items()
    )


def entry(text):
    if text is None or isinstance(text, Entry):
        return text
    return Entry("file", text.encode() if isinstance(text, str) else text)
