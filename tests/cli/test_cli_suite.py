"""`agentgym suite import`: its table, its remarks, its report and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

from demo_suite import Cli

LIBRARY = Path(__file__).parents[1] / "task" / "tau2_checkout"


def test_import_replays_and_reports(cli: Cli, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    done = cli("suite", "import", "tau2", str(LIBRARY), "--json", str(report))
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()[:2]
    assert header.split("  ")[0] == "domain"
    assert row.split() == ["library", "10", "6", "2", "1", "1", "2", "2"]
    for remark in (
        "library gold-raises: gold call raised: find(title='Dunes'): KeyError: 'no book Dunes'",
        "library assertion-fails: its own reference solution fails ENV_ASSERTION",
        "library never-the-same: not judged: AssertionError: number answered",
        "library: pass on inaction: nothing-to-do, no-criteria",
        "library: 1 tasks also need a language model",
    ):
        assert remark in done.stdout
    assert "library: 10 tasks replayed" in done.stderr
    told = json.loads(report.read_text())
    assert told["schema"] == "agentgym.suite-import/1"
    (domain,) = told["domains"]
    assert domain["counts"]["noop_1"] == 2
    assert [task["gold"] for task in domain["tasks"]].count(None) == 2


def test_a_domain_that_cannot_run_is_told(cli: Cli, tmp_path: Path) -> None:
    for name in ("src/tau2/domains/library", "data/tau2/domains"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "src/tau2/domains/library/environment.py").write_text("import tau2.nothing\n")
    done = cli("suite", "import", "tau2", str(tmp_path), "--domain", "library")
    assert done.returncode == 1
    assert "library: not reproducible here" in done.stdout


def test_wrong_words(cli: Cli, tmp_path: Path) -> None:
    assert "did you mean 'tau2'" in cli("suite", "import", "tau", str(LIBRARY)).stderr
    assert "expected a checkout" in cli("suite", "import", "tau2", str(tmp_path)).stderr
    wrong = cli("suite", "import", "tau2", str(LIBRARY), "--domain", "libary")
    assert "did you mean 'library'" in wrong.stderr
    assert wrong.returncode != 0
