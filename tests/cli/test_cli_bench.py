"""`agentgym bench` as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from demo_suite import Cli

from agentgym.bench.series import Figure, Figures

PARTS = ("sql", "json", "audit", "hash", "service", "dispatch")


@pytest.mark.slow
def test_bench_pool_counts_episodes_and_shares_out_their_time(cli: Cli, tmp_path: Path) -> None:
    cache = {"AGENTGYM_CACHE": str(tmp_path / "cache")}
    done = cli("bench", "pool", "--quick", "--jobs", "1,2", "--json", "figures.json", **cache)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    for setting in ("no_pool.jobs1", "pool.jobs1", "no_pool.jobs2", "pool.jobs2"):
        key = f"bubblewrap.{setting}"
        assert figures[f"{key}.episodes_per_min"] > 0
        assert figures[f"{key}.cpu_ms"] > 0
        shares = [v for name, v in figures.items() if name.startswith(f"{key}.share.")]
        assert sum(shares) == pytest.approx(1, abs=0.01)
        assert figures[f"{key}.share.steps"] > 0
    assert figures["bubblewrap.no_pool.jobs1.hits"] == 0
    assert "2 jobs, a pool of 2" in done.stderr
    assert figures["jobs2.episodes_per_min"] == figures["bubblewrap.pool.jobs2.episodes_per_min"]
    assert figures["episode.cpu_ms"] > 0
    assert figures["jobs2.bottleneck"] in done.stdout
    assert "hand-out" in done.stdout
    assert list((tmp_path / "cache/sandbox/live").iterdir()) == []


@pytest.mark.slow
@pytest.mark.full
def test_bench_verify_takes_commands_off_and_judges_each_task(cli: Cli, tmp_path: Path) -> None:
    cache = {"AGENTGYM_CACHE": str(tmp_path / "cache")}
    done = cli("bench", "verify", "--quick", "--json", "figures.json", **cache)
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    tasks = [v for name, v in figures.items() if name.split(".")[1] not in ("p50", "max")]
    assert len(tasks) == 6
    assert figures["grade_ms.max"] == max(tasks) > figures["grade_ms.p50"] > 0
    assert list((tmp_path / "cache/sandbox/live").iterdir()) == []


@pytest.mark.slow
@pytest.mark.full
def test_bench_tools_measures_what_services_cost(cli: Cli, tmp_path: Path) -> None:
    done = cli("bench", "tools", "--quick", "--json", "figures.json")
    assert done.returncode == 0, done.stderr
    figures = json.loads((tmp_path / "figures.json").read_text())
    assert set(figures) == {
        "inprocess.calls_per_s",
        "inprocess.wall_calls_per_s",
        *(f"inprocess.share.{part}" for part in PARTS),
        "http.call_ms.p50",
        "reset_ms.p50",
        "fork_ms.p50",
        "live1000_mb",
    }
    assert all(figure > 0 for figure in figures.values())
    assert sum(figures[f"inprocess.share.{part}"] for part in PARTS) == pytest.approx(100, abs=0.1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pool", "--jobs", "1,two"), "--jobs: expected positive numbers like 1,4,16, got '1,two'"),
        (("pool", "--jobs", "0"), "--jobs: expected positive numbers"),
        (("sandbox", "--jobs", "2"), "bench sandbox takes no --jobs"),
        (("verify", "--provider", "docker"), "bench verify takes no --jobs and no --provider"),
        (("pool", "--provider", "bubblewarp"), "did you mean 'bubblewrap'"),
    ],
)
def test_a_wrong_option_is_told_before_anything_runs(
    cli: Cli, arguments: tuple[str, ...], words: str
) -> None:
    done = cli("bench", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr and "Traceback" not in done.stderr


def test_what_was_not_measured_has_no_row(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.console import Console

    figures = Figures(Figure("a.ms.p50", "one", "ms", 5), Figure("b.ms.p50", "two", "ms"))
    figures["a.ms.p50"].samples += [1.0, 4.0, 9.0]
    figures.show(Console(width=120))
    shown = capsys.readouterr().out
    assert "one" in shown and "4.00 ms" in shown and "≤ 5 ms" in shown and "met" in shown
    assert "two" not in shown
    assert figures.flat() == {"a.ms.p50": 4.0}
