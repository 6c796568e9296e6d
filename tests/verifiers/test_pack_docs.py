"""Every check of every bundled pack is documented, and its example fits its signature."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path
from typing import cast

import pytest

from agentgym.protocols import Check
from agentgym.task.model import Instance, Task, TaskManifest
from agentgym.task.template import fill_json
from agentgym.verify.checking import bind_checks
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.packs import check_arguments, load_pack

FOLDERS = sorted(path.parent for path in Path(__file__).parents[2].glob("verifiers/*/pack.toml"))
CHECKS = {
    f"{pack.name}.{name}": check
    for pack in map(load_pack, FOLDERS)
    for name, check in pack.checks.items()
}


def _example(check: Check) -> list[str]:
    text = inspect.getdoc(check)
    assert text is not None and "\nExample:\n" in text
    lines = text.split("\nExample:\n")[1].split("\n\n")[0].splitlines()
    return [line.strip() for line in lines]


OLDER = ("commands", "files")
"""Their module says which channel they read."""


def test_the_packs_offer_what_tasks_rely_on() -> None:
    offered = {pack: [] for pack in sorted({use.partition(".")[0] for use in CHECKS})}
    for use in sorted(CHECKS):
        offered[use.partition(".")[0]].append(use.partition(".")[2])
    assert {pack: " ".join(names) for pack, names in offered.items()} == {
        "answers": "date_is exact fields gave_up items mentions normal number one_of",
        "archives": "backs_up holds lacks members safe",
        "commands": "exit_code stdout_contains stdout_equals stdout_matches",
        "data": "column_types equals gold_equals lacks row_count rows same_rows valid",
        "desktop": "window",
        "files": "absent contains exists gold_equals json_equals lines_equal lines_kept matches "
        "mode only_changed rest_kept sha256 text_equals unchanged",
        "forms": "filled",
        "git": "clean commits file linear merged never_held on_branch ref_at refs remote sound "
        "tree",
        "http": "answers conversation",
        "images": "format_is region_colour same_pixels similar size",
        "judge": "criterion scale",
        "messages": "keeps_to",
        "office": "cells charts document_table document_text formulas headings paragraphs "
        "rest_kept sheets slide slide_titles style styles_kept tracked_changes weights_kept",
        "pdf": "pages",
        "settings": "holds only_changed",
        "page": "reward state",
        "processes": "alive listening none_left",
        "replies": "heard_out only sent",
        "reports": "junit pytest",
        "services": "called changed_to count mentions never_called only_changed order "
        "read_before_write row unchanged",
        "sqlite": "lacks query row_count sound table",
        "trajectory": "budget calls looked_first mentions never_calls no_repeats order",
    }


@pytest.mark.parametrize(("use", "check"), CHECKS.items(), ids=list(CHECKS))
def test_the_example_of_a_check_could_stand_in_a_rubric(use: str, check: Check) -> None:
    (example,) = tomllib.loads("\n".join(["[[checkpoint]]", *_example(check)]))["checkpoint"]
    assert example.keys() <= {"use", "with"}
    assert example["use"] == use
    check_arguments(use, check, example.get("with", {}))


@pytest.mark.parametrize("use", CHECKS)
def test_the_example_goes_through_the_loader_and_its_arguments_are_accepted(
    use: str, tmp_path: Path
) -> None:
    lines = _example(CHECKS[use])
    rubric = ['schema_version = "agentgym.rubric/1"', "[[checkpoint]]", 'id = "example"', *lines]
    (tmp_path / "checks").mkdir()
    (tmp_path / "checks" / "rubric.toml").write_text("\n".join(rubric) + "\n")
    params = dict.fromkeys(re.findall(r"{{(\w+)}}", "\n".join(lines)), "0" * 64)
    task = Task("test/example-v1", tmp_path, cast(TaskManifest, None), "")
    loaded, checks = bind_checks(Instance(task, 0, params, ""))
    assert list(checks) == ["example"]
    (leaf,) = loaded.leaves()
    filled = fill_json(leaf.arguments, params, "example")
    assert isinstance(filled, dict)
    dry_run(use, CHECKS[use], filled)


@pytest.mark.parametrize("use", [u for u in CHECKS if u.partition(".")[0] not in OLDER])
def test_a_check_says_which_channel_it_reads(use: str) -> None:
    text = inspect.getdoc(CHECKS[use]) or ""
    assert re.search(r"^Channel: (trace|state|audit|judge)\b", text, re.MULTILINE)
