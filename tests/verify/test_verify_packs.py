"""Loading check modules by path, and the complaints about what cannot be used."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from agentgym.errors import VerifierError
from agentgym.protocols import Evidence
from agentgym.testing.checks import evidence
from agentgym.verify.checking import bind_folder
from agentgym.verify.rubric.packs import check_arguments, find_check, load_checks, load_pack

PACK = 'schema_version = "agentgym.pack/1"\nname = "{}"\nversion = "1.0.0"\nsummary = "s"\n'
MODULE = """
from __future__ import annotations
from dataclasses import dataclass
from os.path import exists

LIMIT = 3

@dataclass
class Row:
    cells: list[str]

def rows(evidence, path: str, limit: int = LIMIT) -> bool:
    return True

def _private(evidence):
    return True

shortcut = lambda evidence: True
"""


def pack(root: Path, name: str = "tables", module: str = MODULE) -> Path:
    folder = root / "verifiers" / name
    folder.mkdir(parents=True)
    (folder / "pack.toml").write_text(PACK.format(name))
    (folder / "checks.py").write_text(module)
    return folder


def test_plain_functions_of_the_module_itself_are_checks(tmp_path: Path) -> None:
    loaded = load_pack(pack(tmp_path))
    assert (loaded.name, loaded.version, loaded.summary) == ("tables", "1.0.0", "s")
    assert sorted(loaded.checks) == ["rows", "shortcut"]


def test_a_pack_is_found_on_the_search_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    assert find_check("tables.rows", tmp_path)(None, "/srv") is True


def test_the_tasks_own_checks_stand_beside_the_rubric(tmp_path: Path) -> None:
    (tmp_path / "checks.py").write_text("def mine(evidence):\n    return 7\n")
    assert find_check("checks.mine", tmp_path)(None) == 7


def test_a_changed_module_is_loaded_anew_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "checks.py"
    path.write_text("def a(evidence):\n    return 1\n")
    first = load_checks(path)
    assert load_checks(path) is first
    path.write_text("def a(evidence):\n    return 2\n")
    os.utime(path, ns=(1, 1))
    assert load_checks(path)["a"](None) == 2


def test_a_pack_may_have_a_module_for_each_subject(tmp_path: Path) -> None:
    folder = pack(
        tmp_path, module="from .cells import _hidden, filled\nfrom os.path import exists\n"
    )
    cells = folder / "cells.py"
    cells.write_text(
        "from .reading import read\n"
        "def _hidden(evidence):\n    return 0\n"
        "def other(evidence):\n    return 0\n"
        "def filled(evidence):\n    return read()\n"
    )
    (folder / "reading.py").write_text("def read():\n    return 1\n")
    (folder / "gone.py").symlink_to("nowhere.py")
    first = load_pack(folder).checks
    assert list(first) == ["filled"]
    assert load_pack(folder).checks["filled"] is first["filled"]
    (folder / "reading.py").write_text("def read():\n    return 2\n")
    os.utime(folder / "reading.py", ns=(1, 1))
    assert (load_pack(folder).checks["filled"](None), first["filled"](None)) == (2, 1)
    assert sorted(path.name for path in folder.iterdir()) == [
        *("cells.py", "checks.py", "gone.py", "pack.toml", "reading.py")
    ]


def test_the_line_is_told_at_which_a_module_of_a_pack_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pack(tmp_path, module="from .cells import filled\n")
    (folder / "cells.py").write_text(
        "import json\ndef filled(evidence):\n    json.loads(evidence.answer)\n"
    )
    (tmp_path / "rubric.toml").write_text(
        'schema_version = "agentgym.rubric/1"\n[[checkpoint]]\nid = "a"\nuse = "tables.filled"\n'
    )
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    _, checks = bind_folder(tmp_path, {})
    assert checks["a"](evidence({}, answer="{")).message.endswith("(cells.py:3)")


def test_no_bytecode_is_left_in_the_authors_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    (tmp_path / "checks.py").write_text("def a(evidence):\n    return 1\n")
    load_checks(tmp_path / "checks.py")
    assert [path.name for path in tmp_path.iterdir()] == ["checks.py"]


@pytest.mark.parametrize(
    ("use", "says"),
    [
        ("tables.rwos", "did you mean 'rows'"),
        ("tabels.rows", "did you mean 'tables'"),
        ("tables._private", "no check in 'tables'"),
        ("tables.exists", "no check in 'tables'"),
        ("tables.Row", "no check in 'tables'"),
        ("checks.rows", "checks.py: No such file"),
    ],
)
def test_what_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, use: str, says: str
) -> None:
    pack(tmp_path)
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    with pytest.raises(VerifierError, match=says):
        find_check(use, tmp_path / "checks")


@pytest.mark.parametrize(
    ("module", "says"),
    [
        ("def broken(:\n", "SyntaxError"),
        ("import nowhere_to_be_found\n", "ModuleNotFoundError: No module named"),
        ("raise ValueError('at import')\n", "ValueError: at import"),
    ],
)
def test_a_module_that_cannot_be_executed_is_a_verifier_error(
    tmp_path: Path, module: str, says: str
) -> None:
    with pytest.raises(VerifierError, match=says):
        load_pack(pack(tmp_path, module=module))


def test_a_pack_must_bear_its_folders_name(tmp_path: Path) -> None:
    folder = pack(tmp_path, "tables")
    (folder / "pack.toml").write_text(PACK.format("charts"))
    with pytest.raises(VerifierError, match="expected 'tables'"):
        load_pack(folder)


def test_no_pack_may_be_called_checks(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="and not 'checks'"):
        load_pack(pack(tmp_path, "checks"))


def test_a_pack_without_its_manifest_is_named(tmp_path: Path) -> None:
    folder = pack(tmp_path)
    (folder / "pack.toml").unlink()
    with pytest.raises(VerifierError, match="pack.toml"):
        load_pack(folder)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"path": "/srv", "limt": 1}, "limt"),
        ({}, "missing a required argument: 'path'"),
        ({"path": "/srv", "evidence": 1}, "evidence"),
    ],
)
def test_arguments_are_compared_with_the_signature(
    tmp_path: Path, arguments: dict[str, object], says: str
) -> None:
    rows = load_pack(pack(tmp_path)).checks["rows"]
    check_arguments("tables.rows", rows, {"path": "/srv", "limit": 1})
    with pytest.raises(VerifierError, match=says):
        check_arguments("tables.rows", rows, arguments)


def test_one_text_is_no_list_of_texts() -> None:
    def kept(evidence: Evidence, paths: Sequence[str], either: str | Sequence[str] = ()) -> bool:
        return not list(paths)

    check_arguments("checks.kept", kept, {"paths": ["/srv"], "either": "/srv"})
    with pytest.raises(VerifierError, match="paths: expected a list, got '/srv'"):
        check_arguments("checks.kept", kept, {"paths": "/srv"})
