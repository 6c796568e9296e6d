"""docs/judging.md: its rubric loads, its options are the judge's, its labels are read."""

from __future__ import annotations

import json
import re
from pathlib import Path

from agentgym.eval.labels import Label
from agentgym.verify.judge.model import Options
from agentgym.verify.rubric.dry_run import dry_run
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.packs import check_arguments, find_check

PAGE = (Path(__file__).parents[3] / "docs" / "judging.md").read_text(encoding="utf-8")


def test_the_rubric_of_the_page_loads(tmp_path: Path) -> None:
    tables = "".join(re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL))
    (tmp_path / "rubric.toml").write_text(f'schema_version = "agentgym.rubric/1"\n{tables}')
    leaves = list(load_rubric(tmp_path / "rubric.toml").leaves())
    assert [leaf.only_if_judged for leaf in leaves] == [False, True]
    for leaf in leaves:
        check = find_check(leaf.use, tmp_path)
        check_arguments(leaf.use, check, leaf.arguments)
        dry_run(leaf.use, check, leaf.arguments)


def test_the_options_of_the_page_are_those_of_the_judge() -> None:
    listed = PAGE.partition("The options are ")[2].partition("\n\n`agentgym eval`")[0]
    assert set(re.findall(r"`(\w+)`", listed)) == set(Options.model_fields)
    for name, field in Options.model_fields.items():
        if field.default is not None:
            shown = re.search(rf"`{name}` \((?:of one \w+, )?([\d,]+)\)", listed)
            assert shown and float(shown[1].replace(",", "")) == field.default


def test_the_label_of_the_page_is_one() -> None:
    (line,) = re.findall(r'`(\{"run".*?\})`', PAGE)
    assert Label.model_validate(json.loads(line)).label == "pass"
