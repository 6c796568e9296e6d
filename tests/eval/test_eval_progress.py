"""What is seen while a run goes on."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console
from synthetic_run import Runs, scored, unscored

from agentgym.eval.progress import LineProgress, LiveProgress, make_progress
from agentgym.records import Action


def test_a_file_gets_one_plain_line_an_episode(runs: Runs) -> None:
    store = runs.start(trials=2)
    runs.play(store, store.episode(1), scored(1.0))
    out = io.StringIO()
    progress = make_progress(Console(file=out))
    rows = store.episodes()
    with progress:
        progress.plan(rows)
        progress.begin(rows[1])
        progress.end(rows[1], unscored("agent"), "[red]the endpoint[/] is down\nand more")
        progress.begin(rows[2])
        progress.end(rows[2], scored(0.5), "")
    assert isinstance(progress, LineProgress)
    assert out.getvalue().splitlines() == [
        "1 of 4 episodes were done before",
        "[2/4] noop  demo/two-v1  trial 0  error:agent: [red]the endpoint[/] is down",
        "[3/4] noop  demo/one-v1  trial 1  failed  score 0.50",
    ]


def test_what_an_agent_wrote_does_not_steer_the_terminal(runs: Runs) -> None:
    store = runs.start()
    rows = store.episodes()
    evil = "no tool '\x1b]0;mine\x07\x1b[2J'"
    runs.play(store, rows[0], None)
    step = store.steps(rows[0].id)[0]
    named = replace(step, decision=replace(step.decision, action=Action(evil)))
    for terminal in (False, True):
        out = io.StringIO()
        progress = make_progress(Console(file=out, force_terminal=terminal, width=120))
        with progress:
            progress.plan(rows)
            progress.begin(rows[0])
            progress.step(rows[0], named)
            if isinstance(progress, LiveProgress):
                Console(file=out, width=120).print(progress.render())
            progress.end(rows[0], scored(0.0), evil)
        assert "\x1b]0;" not in out.getvalue() and "\x1b[2J" not in out.getvalue()
        assert "no tool" in out.getvalue()


def test_a_terminal_gets_a_table_that_counts(runs: Runs) -> None:
    store = runs.start(agents=("noop", "other"))
    rows = store.episodes()
    runs.play(store, rows[0], None)
    out = io.StringIO()
    progress = make_progress(Console(file=out, force_terminal=True, width=120))
    assert isinstance(progress, LiveProgress)
    picture = Console(width=120, record=True, file=io.StringIO())
    with progress:
        progress.plan(rows)
        progress.begin(rows[0])
        progress.step(rows[0], store.steps(rows[0].id)[0])
        picture.print(progress.render())
        running = picture.export_text()
        progress.end(rows[0], scored(0.25), "")
        progress.begin(rows[1])
        progress.end(rows[1], unscored("sandbox"), "it died")
        picture.print(progress.render())
        later = picture.export_text()
    assert "demo/one-v1 #0 noop step 1 bash" in running
    assert "0/2" in running and "1/2" in later
    assert "0.250" in later and "demo/one-v1 #0" not in later
    assert "to go" in later
    assert "it died" in out.getvalue()
