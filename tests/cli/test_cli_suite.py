"""`agentgym suite import`: its table, its remarks, its report and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

from demo_suite import Cli

LIBRARY = Path(__file__).parents[1] / "formats" / "tau2_checkout"


def test_import_replays_and_reports(cli: Cli, tmp_path: Path) -> None:
    report, cache = tmp_path / "report.json", str(tmp_path / "cache")
    told = ("--json", str(report))
    done = cli("suite", "import", "tau2", str(LIBRARY), *told, AGENTGYM_CACHE=cache)
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
    written = json.loads(report.read_text())
    assert written["schema"] == "agentgym.suite-import/1"
    (domain,) = written["domains"]
    assert domain["counts"]["noop_1"] == 2
    assert [task["gold"] for task in domain["tasks"]].count(None) == 2


def test_an_imported_suite_is_listed_and_evaluated(cli: Cli, tmp_path: Path) -> None:
    cache, out = str(tmp_path / "cache"), str(tmp_path / "run")
    done = cli("suite", "import", "tau2", str(LIBRARY), "--limit", "2", AGENTGYM_CACHE=cache)
    assert "run it with: agentgym eval tau2-library -a oracle -a noop" in done.stdout
    listed = cli("list", "tasks", "tau2-library", AGENTGYM_CACHE=cache)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == [
        "tau2-library/lend-v1",
        "tau2-library/nothing-to-do-v1",
    ]
    agents = ("-a", "oracle", "-a", "noop", "--out", out)
    assert cli("eval", "tau2-library", *agents, AGENTGYM_CACHE=cache).returncode == 0
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    episodes = [one for task in results["tasks"] for one in task["episodes"]]
    scores = {(one["task"], one["agent"]): one["score"] for one in episodes}
    assert scores == {
        ("tau2-library/lend-v1", "oracle"): 1.0,
        ("tau2-library/lend-v1", "noop"): 0.0,
        ("tau2-library/nothing-to-do-v1", "oracle"): 1.0,
        ("tau2-library/nothing-to-do-v1", "noop"): 1.0,
    }
    again = cli("replay", out, "1", "--verify", AGENTGYM_CACHE=cache)
    assert "all observations agree, so do the state and the score" in again.stdout


def test_a_smaller_import_says_what_it_replaces(cli: Cli, tmp_path: Path) -> None:
    cache, told = str(tmp_path / "cache"), "library: replaces an import of 3 tasks by 2\n"
    for limit, said in (("3", False), ("2", True), ("3", False)):
        words = ("suite", "import", "tau2", str(LIBRARY), "--limit", limit)
        assert (told in cli(*words, AGENTGYM_CACHE=cache).stdout) is said


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
