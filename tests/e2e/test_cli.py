"""The documented commands in the order in which a user meets them, on bundled and hostile tasks."""

import html
import json
import os
import re
import subprocess
from html.parser import HTMLParser

import pytest
from agentgym_command import PROGRAM
from small_task import FILES, write_task

from agentgym import __version__, catalogue

BUNDLED = "terminal/log-forensics-v1"
HOSTILE = (
    "</script></pre><img src=x onerror=alert(1)><script src=https://evil.example/x.js></script>"
)


def results_of(folder):
    return json.loads((folder / "results.json").read_text())


def script(path, *commands):
    """Write a file of bash calls for the `scripted` agent and return the agent."""
    lines = [json.dumps({"tool": "bash", "arguments": {"command": c}}) for c in commands]
    path.write_text("\n".join(lines))
    return f"scripted:{path.name}"


# --- before a run ----------------------------------------------------------------------------


def test_doctor_says_that_sandboxes_work_here(cli):
    done = cli("doctor")
    assert done.returncode == 0, done.stdout
    assert re.search(
        r"^✓ sandbox bubblewrap +started and ran a command in \d+ ms", done.stdout, re.M
    )
    assert "\x1b" not in done.stdout


def test_every_bundled_task_is_listed(cli):
    done = cli("list", "tasks", "terminal")
    assert done.returncode == 0
    listed = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert listed == [task for task in catalogue.folders("tasks") if task.startswith("terminal/")]
    assert "broken" not in done.stdout
    assert cli("list").stdout == cli("list", "tasks").stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("eval", "termnal", "-a", "noop"), "no task named 'termnal'; did you mean 'terminal'?"),
        (("eval", "log-forensic", "-a", "noop"), f"did you mean '{BUNDLED}'?"),
        (("eval", BUNDLED, "-a", "oracel"), "no agent named 'oracel'; did you mean 'oracle'?"),
        (("eval", BUNDLED, "-a", "noop", "--sandbox", "bublewrap"), "did you mean 'bubblewrap'?"),
        (("eval", BUNDLED, "-a", "scripted:no.jsonl"), "no.jsonl: cannot be read"),
        (("eval", BUNDLED, "-a", "noop", "--trial", "2"), "--trials"),
        (("eval", BUNDLED, "-a", "noop", "--trials", "0"), "Invalid value for '--trials'"),
        (("eval", BUNDLED, "-a", "noop", "--jobs", "many"), "Invalid value for '--jobs'"),
        (("list", "task"), "did you mean 'tasks'?"),
        (("evaluate",), "Did you mean 'eval'?"),
    ],
)
def test_a_mistyped_name_gets_the_close_one_and_leaves_nothing(cli, tmp_path, arguments, words):
    out = ("--out", "run") if arguments[0] == "eval" else ()
    done = cli(*arguments, *out, COLUMNS="200")
    assert done.returncode == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists() and not (tmp_path / "runs").exists()


# --- a run and its files ---------------------------------------------------------------------

EPISODE = {
    "id": int,
    "task": str,
    "seed": int,
    "trial": int,
    "agent": str,
    "status": str,
    "outcome": bool,
    "score": float,
    "process": (float, type(None)),
    "safety_violations": list,
    "steps": int,
    "calls_by_surface": dict,
    "duration_s": float,
    "reset_s": float,
    "tokens": dict,
    "bonus": float | None,
    "uncontrollable": list,
    "verifier": str,
    "checkpoints": list,
}


def test_results_hold_what_is_documented(cli, catalogue, tmp_path):
    """Two tasks, two trials, four agents: always right, never, on one of the tasks, broken."""
    write_task(catalogue, "hello")
    write_task(catalogue, "world")
    half = script(tmp_path / "half.jsonl", "echo hello > /root/word")
    agents = ["oracle", "noop", half, "openai:none"]
    done = cli(
        *("eval", "demo", "--trials", 2, "--jobs", 2, "--seed", 5, "--out", "run"),
        *(part for agent in agents for part in ("--agent", agent)),
        OPENAI_BASE_URL="http://127.0.0.1:1/v1",
    )
    assert done.returncode == 3, done.stderr
    results = results_of(tmp_path / "run")
    assert (results["schema"], results["agentgym"]) == ("agentgym.results/1", __version__)
    assert results["complete"] is True

    expected = {
        "oracle": (4, 0, 1.0, 1.0, 1.0, 1.0),
        "noop": (4, 0, 0.0, 0.0, 0.0, 0.0),
        # 1.0 on hello; on world 0.25, because a file is there, with the wrong word in it.
        half: (4, 0, 0.625, 0.5, 0.5, 0.5),
        "openai:none": (0, 4, None, None, None, None),
    }
    assert set(results["summary"]) == set(expected)
    numbers = ("mean_score", "pass@1", "pass@k", "pass^k")
    for agent, (scored, errors, *means) in expected.items():
        row = results["summary"][agent]
        assert (row["episodes"], row["scored"], row["errors"]) == (4, scored, errors)
        assert [row[name] for name in numbers] == means
        for name, mean in zip(numbers, means, strict=True):
            interval = row[f"{name}_ci95"]
            assert mean is not None or interval is None
            assert interval is None or 0 <= interval[0] <= mean <= interval[1] <= 1
    low, high = results["summary"][half]["mean_score_ci95"]
    assert low < 0.625 < high, "two tasks that differ leave much uncertain"

    assert [task["task"] for task in results["tasks"]] == ["demo/hello-v1", "demo/world-v1"]
    for task in results["tasks"]:
        planned = {(5 + trial, trial, agent) for trial in (0, 1) for agent in agents}
        assert {(e["seed"], e["trial"], e["agent"]) for e in task["episodes"]} == planned
        for episode in task["episodes"]:
            assert episode["task"] == task["task"]
            check_episode(episode)


def check_episode(episode):
    broken = episode["agent"] == "openai:none"
    assert set(episode) == {*EPISODE, "error"} if broken else set(EPISODE)
    for name, kind in EPISODE.items():
        if broken and name in ("outcome", "score", "process"):
            assert episode[name] is None
        else:
            assert isinstance(episode[name], kind), name
    assert set(episode["tokens"]) == {"prompt", "completion", "total"}
    if broken:
        assert episode["status"] == "error:agent"
        return
    assert episode["status"] == "scored"
    right = episode["agent"] == "oracle" or (
        episode["agent"].startswith("scripted") and episode["task"] == "demo/hello-v1"
    )
    assert episode["outcome"] is right
    assert episode["score"] == (1.0 if right else 0.25 if episode["steps"] > 1 else 0.0)
    assert episode["steps"] == (1 if episode["agent"] == "noop" else 2)
    assert episode["calls_by_surface"] == {"shell": episode["steps"] - 1}, "all but `submit`"
    assert 0 < episode["reset_s"] <= episode["duration_s"]
    assert episode["safety_violations"] == []
    assert episode["tokens"] == {"prompt": 0, "completion": 0, "total": 0}


class Page(HTMLParser):
    """What a browser would act on in a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.styles = set(), [], ""
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._in = tag
        self.tags.add(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        if self._in == "style":
            self.styles += data


def test_the_report_loads_nothing_and_obeys_nobody(cli, catalogue, tmp_path):
    task = write_task(
        catalogue, changes={"instruction.md": f"Write {{{{word}}}} into /root/word. {HOSTILE}\n"}
    )
    title = 'title = "Write <img src=x onerror=alert(2)> the word"'
    manifest = (task / "task.toml").read_text().replace('title = "Write the word"', title)
    (task / "task.toml").write_text(manifest)
    agent = script(
        tmp_path / "<img src=x onerror=alert(3)>.jsonl",
        f"printf '%s' '{HOSTILE}'",
        r"printf '\033]0;owned\007\033[31mred\033[0m \xff\xfe \u202e'",
        f"echo '{HOSTILE}' > /root/word",
    )
    done = cli("eval", "demo", "--agent", agent, "--out", "run")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run/report.html").read_text()
    page = Page(text)
    assert html.escape("<img src=x onerror=alert(1)>") in text
    assert not page.tags & {"script", "img", "iframe", "link", "object", "embed", "base"}
    for name, value in page.attributes:
        assert not name.startswith("on"), (name, value)
        if name in ("src", "href", "srcset", "action", "data", "xlink:href"):
            assert value.startswith("#"), (name, value)
    assert "@import" not in page.styles and not re.search(r"url\(\s*['\"]?(?!#)", page.styles)
    assert "\x1b" not in text and "\x07" not in text and "\u202e" not in text

    shown = cli("replay", "run", 1, "--full")
    assert shown.returncode == 0
    assert "<img src=x onerror=alert(1)>" in shown.stdout
    assert not set("\x1b\x07\u202e") & set(shown.stdout)


@pytest.mark.slow
def test_a_run_of_a_bundled_task_is_replayed_verified_and_branched(cli, tmp_path):
    look = script(tmp_path / "look.jsonl", "cd /var; pwd", "ls -la")
    done = cli("eval", BUNDLED, "-a", "oracle", "-a", look, "--out", "run")
    assert done.returncode == 0, done.stderr
    listed = cli("replay", "run").stdout.splitlines()
    assert [line.split()[1:3] for line in listed[1:]] == [[BUNDLED, "oracle"], [BUNDLED, look]]
    shown = cli("replay", "run", 2)
    assert shown.returncode == 0
    assert "$ cd /var; pwd\n/var\n" in shown.stdout and "failed  score 0.000" in shown.stdout

    for episode in (1, 2):
        verified = cli("replay", "run", episode, "--verify")
        assert verified.returncode == 0, verified.stdout
        assert "all observations agree, so do the state and the score" in verified.stdout

    before = json.loads((tmp_path / "run/results.json").read_text())
    given_up = cli("replay", "run", 1, "--branch", 0, "--agent", "noop")
    assert given_up.returncode == 0, given_up.stderr
    assert "failed  score 0.000" in given_up.stdout
    taken_over = cli("replay", "run", 2, "--branch", 1, "--agent", "oracle")
    assert taken_over.returncode == 0, taken_over.stderr
    assert "passed  score 1.000" in taken_over.stdout
    assert "branch of 2 at 1" in cli("replay", "run").stdout
    assert cli("report", "run").returncode == 0
    after = json.loads((tmp_path / "run/results.json").read_text())
    assert len(after["tasks"][0].pop("branches")) == 2
    assert after == before, "a branch is not a trial"


def test_verify_names_the_first_divergence(cli, catalogue, tmp_path):
    changes = {"setup/setup.sh": "echo red > /root/colour\n"}
    task = write_task(catalogue, changes=changes)
    agent = script(tmp_path / "look.jsonl", "true", "cat /root/colour", "ls /root")
    assert cli("eval", "demo", "-a", agent, "-o", "run").returncode == 0
    (task / "setup/setup.sh").write_text("echo blue > /root/colour\n")
    done = cli("replay", "run", 1, "--verify")
    assert done.returncode == 1
    # The seal of the setup names what is seen at step 1 before anything is executed.
    assert "episode 1 diverged at prepared setup: was " in done.stdout
    refused = cli("replay", "run", 1, "--branch", 2, "--agent", "noop")
    assert refused.returncode == 1
    assert "diverged at prepared setup" in refused.stderr


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (("nowhere",), "nowhere", 1),
        (("run", "7"), "has no episode 7; its episodes are 1 to 1", 1),
        (("run", "--verify"), "need an EPISODE", 2),
        (("run", "1", "--branch", "0"), "needs both --branch K and --agent A", 2),
        (("run", "1", "--branch", "9", "-a", "noop"), "it has 1 steps", 1),
        (("run", "1", "--branch", "0", "-a", "nop"), "did you mean 'noop'?", 2),
    ],
)
def test_a_replay_that_cannot_be_says_why(cli, catalogue, arguments, words, code):
    write_task(catalogue)
    assert cli("eval", "demo", "-a", "noop", "-o", "run").returncode == 0
    done = cli("replay", *arguments)
    assert (done.returncode, words in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr


def test_a_report_after_a_kill_tells_what_is_known(cli, catalogue, tmp_path):
    write_task(catalogue, "hello")
    never = {"solution/solve.sh": "mkfifo /root/never; read -r _ < /root/never\n"}
    task = write_task(catalogue, "world", never)
    with subprocess.Popen(
        [PROGRAM, "eval", "demo", "--agent", "oracle", "--jobs", "1", "--out", "run"],
        cwd=tmp_path,
        env=os.environ,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr.readline() == "reading demo …\n"
        assert "[1/2]" in process.stderr.readline()
        process.kill()
    done = cli("report", "run")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^oracle .* 1/2 ", done.stdout, re.M)
    results = results_of(tmp_path / "run")
    assert results["complete"] is False
    row = results["summary"]["oracle"]
    assert (row["episodes"], row["unfinished"], row["mean_score"]) == (1, 1, 1.0)
    assert "--resume" in (tmp_path / "run/report.html").read_text()

    (task / "solution/solve.sh").write_text(FILES["solution/solve.sh"])
    assert cli("eval", "--out", "run", "--resume").returncode == 0
    assert results_of(tmp_path / "run")["complete"] is True
