"""A recorded verdict as `agentgym replay` prints it."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from rich.console import Console

from agentgym.cli.leaderboard import leaderboard, remarks
from agentgym.cli.transcript import print_step, print_verdict
from agentgym.eval.results import build_results
from agentgym.eval.settings import Settings
from agentgym.record.store import RunStore
from agentgym.records import (
    Action,
    CheckpointResult,
    CheckStatus,
    Decision,
    Nudge,
    Observation,
    Phase,
    Step,
    Verdict,
)

PASS, FAIL = CheckStatus.PASS, CheckStatus.FAIL
NODES = (
    CheckpointResult(
        *("early", Phase.PROCESS, PASS, 1.0, 1.0), step=2, channels=("trace", "state")
    ),
    CheckpointResult(*("first", Phase.PROCESS, PASS, 1.0, 1.0), step=-1),
    CheckpointResult(*("down", Phase.OUTCOME, FAIL, 0.0, 2.0), controllable=False),
    CheckpointResult(*("extra", Phase.OUTCOME, FAIL, 0.5, 1.0, "half of it"), bonus=True),
    CheckpointResult(*("plain", Phase.OUTCOME, PASS, 1.0, 1.0)),
)
RICH = Verdict(
    *("scored", False, 1 / 3, 1.0, (), NODES, "00"),
    *(0.5, ("down",), "0123456789ab"),
)
PLAIN = Verdict("scored", True, 1.0, checkpoints=NODES[-1:])


def stored(folder: Path, verdict: Verdict) -> RunStore:
    settings = Settings(
        *(("demo/one-v1",), ("noop",), 1), seed=1, jobs=1, agentgym="0", started="2026-01-02"
    )
    store = RunStore.create(folder, asdict(settings), settings.episodes())
    recorder = store.begin(
        *(1,), params={}, instruction="", sandbox="none", reset_s=0.0, first=Observation("")
    )
    recorder.finish(verdict, duration_s=1.0)
    return store


def test_bonus_blame_steps_channels_and_verifier_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = stored(tmp_path / "run", RICH)
    print_verdict(Console(width=200), store.episode(1), full=False)
    store.close()
    assert capsys.readouterr().out.strip().splitlines() == [
        "failed  score 0.333  process 1.000  bonus 0.500",
        "✓ early  1.00 × 1  at step 2  [trace, state]",
        "✓ first  1.00 × 1  at the start",
        "✗ down  0.00 × 2  uncontrollable",
        "✗ extra  0.50 × 1  bonus  half of it",
        "✓ plain  1.00 × 1",
        "verifier 0123456789ab",
    ]


@pytest.mark.parametrize(("verdict", "shown"), [(RICH, True), (PLAIN, False)])
def test_the_leaderboard_has_a_bonus_only_where_one_was_offered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verdict: Verdict, shown: bool
) -> None:
    store = stored(tmp_path / "run", verdict)
    Console(width=200).print(leaderboard(build_results(store)))
    store.close()
    assert ("bonus" in capsys.readouterr().out) is shown


def test_the_leaderboard_says_what_missing_episodes_could_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(
        *(("demo/one-v1", "demo/two-v1", "demo/three-v1"), ("a\x1b[2J", "b"), 1),
        **{"seed": 1, "jobs": 1, "agentgym": "0", "started": "2026-01-02"},
    )
    store = RunStore.create(tmp_path / "run", asdict(settings), settings.episodes())
    for row in store.episodes():
        if row.plan.task == "demo/three-v1" and row.plan.agent != "b":
            continue  # not over
        recorder = store.begin(
            *(row.id,), params={}, instruction="", sandbox="none", reset_s=0.0, first=None
        )
        lost = row.plan.task == "demo/two-v1" and row.plan.agent != "b"
        verdict = Verdict("error:agent", False, 0.0) if lost else PLAIN
        recorder.finish(verdict, duration_s=1.0, error="it failed" if row.id == 2 else "")
    results = build_results(store)
    Console(width=200).print(leaderboard(results))
    store.close()
    table = capsys.readouterr().out.splitlines()
    assert "bounds" in table[0] and table[1].startswith("b ")
    assert "0.333 – 1.000" in table[2] and "1/3" in table[2] and "\x1b" not in table[2]
    assert list(remarks(results)) == [
        "b: in 1 of 3 episodes the policy failed; they are scored as they stood then",
        "a\\x1b[2J: 2 of 3 episodes have no score (1 × error:agent, 1 not over); were all of them "
        "0 the mean would be 0.333, were all of them 1 1.000",
    ]


def test_the_leaderboard_and_the_transcript_say_that_words_are_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = stored(tmp_path / "run", replace(PLAIN, words="not judged"))
    (line,) = remarks(build_results(store))
    print_verdict(Console(width=200), store.episode(1), full=False)
    store.close()
    assert "words: not judged in 1 of 1 scored episodes" in line
    assert "words: not judged" in capsys.readouterr().out


def test_how_a_policy_failed_is_shown_and_its_traceback_folded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = Settings(("demo/one-v1",), ("noop",), 1, started="2026-01-02")
    store = RunStore.create(tmp_path / "run", asdict(settings), settings.episodes())
    recorder = store.begin(
        *(1,), params={}, instruction="", sandbox="none", reset_s=0.0, first=Observation("")
    )
    recorder.note("\n".join(f"frame {n}" for n in range(40)))
    recorder.finish(PLAIN, duration_s=1.0, error="KeyError: 'x'")
    row = store.episode(1)
    store.close()
    print_verdict(Console(width=200), row, full=False)
    folded = capsys.readouterr().out
    assert "the policy failed: KeyError: 'x'" in folded
    assert "frame 11" in folded and "frame 12" not in folded and "--full" in folded
    print_verdict(Console(width=200), row, full=True)
    assert "frame 39" in capsys.readouterr().out


def test_what_a_model_was_told_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    decision = Decision(Action("look"), nudges=(Nudge("Let me think.", "Call a tool."),))
    print_step(Console(width=200), Step(0, decision, Observation("")), full=False)
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert lines[2:4] == ["replied: Let me think.", "was told: Call a tool."]
