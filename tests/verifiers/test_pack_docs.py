"""Every check of every bundled pack is documented, and its example fits its signature."""

from __future__ import annotations

import inspect
import tomllib
from pathlib import Path

import pytest

from agentgym.protocols import Check
from agentgym.verify.packs import check_arguments, load_pack

FOLDERS = sorted(path.parent for path in Path(__file__).parents[2].glob("verifiers/*/pack.toml"))
CHECKS = {
    f"{pack.name}.{name}": check
    for pack in map(load_pack, FOLDERS)
    for name, check in pack.checks.items()
}


def test_the_packs_offer_what_tasks_rely_on() -> None:
    assert sorted(CHECKS) == [
        "commands.exit_code",
        "commands.stdout_contains",
        "commands.stdout_equals",
        "commands.stdout_matches",
        "files.absent",
        "files.contains",
        "files.exists",
        "files.gold_equals",
        "files.json_equals",
        "files.lines_equal",
        "files.matches",
        "files.mode",
        "files.only_changed",
        "files.sha256",
        "files.text_equals",
        "files.unchanged",
    ]


@pytest.mark.parametrize(("use", "check"), CHECKS.items(), ids=list(CHECKS))
def test_the_example_of_a_check_could_stand_in_a_rubric(use: str, check: Check) -> None:
    text = inspect.getdoc(check)
    assert text is not None and "\nExample:\n" in text
    lines = text.split("\nExample:\n")[1].split("\n\n")[0].splitlines()
    example = tomllib.loads("\n".join(line.strip() for line in lines))
    assert example.keys() == {"use", "with"}
    assert example["use"] == use
    check_arguments(use, check, example["with"])
