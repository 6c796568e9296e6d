"""A living world in a real sandbox: events, faults, milestones, and all of it twice."""

import re

import pytest
from living_tasks import FLAKY, RELAY, write_living

from agentgym.env.environment import Environment
from agentgym.errors import TaskError, UnsupportedError
from agentgym.records import Action, Capability, CheckStatus, Effect, StepEvent, StepEventKind
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import load_task
from agentgym.task.reference_actions import oracle

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")

EVENT, FAULT = StepEventKind.EVENT, StepEventKind.FAULT


@pytest.fixture
async def provider(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


def changed(files, **changes):
    """The files of a task with (file, old, new) replaced."""
    files = dict(files)
    for name, old, new in changes.values():
        assert old in files[name]
        files[name] = files[name].replace(old, new)
    return files


async def play(env, actions, seed=0):
    episode = await env.start(seed)
    transition = None
    for action in actions:
        transition = await episode.step(action)
    return episode, transition


def bash(command):
    return Action("bash", {"command": command})


async def test_events_change_the_world_and_tell_of_it(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    env = Environment(task, provider)
    episode, last = await play(env, oracle(task.instance(0)))
    word = episode.instance.params["word"]
    steps = episode.steps
    assert "[notification]" not in episode.first.text
    assert [step.events for step in steps] == [
        (
            StepEvent(EVENT, "dawn", "2026-03-02T09:00:00Z, ran events/dawn.sh"),
            StepEvent(EVENT, "handed", "2026-03-02T09:01:00Z, ran events/rotate.sh, announced"),
        ),
        (StepEvent(FAULT, "flaky", "bash call 2: timeout after commit"),),
        (StepEvent(EVENT, "bell", "2026-03-02T09:03:00Z, announced"),),
        (),
    ]
    assert steps[0].observation.text == f"[notification] the word is now {word}-2"
    assert steps[1].observation.effect is Effect.TIMEOUT
    assert "injected" not in steps[1].observation.text and not steps[1].observation.data
    log, rest = steps[2].observation.text.split("rotated ")
    assert log == "dawn 2026-03-02T09:00:00Z 0\n"
    # Nothing of the events is left in the guest.
    assert rest == ("2026-03-02T09:01:00Z\n[exit code 1]\n[notification] three minutes have passed")
    verdict = last.verdict
    assert (verdict.status, verdict.score, verdict.process) == ("scored", 1.0, 1.0)
    found = {c.id: c for c in verdict.checkpoints}
    # Reached after the first step, and no more true at the end.
    assert (found["handed"].status, found["handed"].step) == (CheckStatus.PASS, 0)
    assert found["kept"].step is None


async def test_the_same_actions_meet_the_same_world(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    seen = []
    for _ in range(2):
        env = Environment(task, provider)
        episode, last = await play(env, oracle(task.instance(1)), seed=1)
        steps = [(s.observation.text, s.observation.effect, s.events) for s in episode.steps]
        seen.append((steps, last.verdict))
    assert seen[0] == seen[1]


async def test_a_milestone_that_never_held_fails_with_what_was_seen_last(tmp_path, provider):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    env = Environment(task, provider)
    episode, last = await play(env, [bash("echo wrong > /srv/out"), Action("submit")])
    handed = next(c for c in last.verdict.checkpoints if c.id == "handed")
    assert (handed.status, handed.step, handed.score) == (CheckStatus.FAIL, None, 0.0)
    assert handed.message.startswith("never held; at the last look: ") and "wrong" in handed.message
    assert last.verdict.status == "scored"
    # `handed` never held, so its event never fired, nor did what was due after the last step.
    assert [h.id for step in episode.steps for h in step.events] == ["dawn"]


async def test_what_holds_from_the_start_is_reached_before_the_first_step(tmp_path, provider):
    files = {**RELAY, "setup/setup.sh": 'echo "$PARAM_WORD" | tee /srv/in > /srv/out\n'}
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    episode, last = await play(env, [Action("submit")])
    assert episode.first.text.endswith(
        f"\n[notification] the word is now {episode.instance.params['word']}-2"
    )
    # What a policy is briefed with says it too.
    assert episode.instance.instruction == episode.first.text
    assert [h.id for h in episode.steps[0].events] == ["dawn", "handed"]
    assert next(c for c in last.verdict.checkpoints if c.id == "handed").step == -1


async def test_every_kind_of_fault(tmp_path, provider):
    task = load_task(write_living(tmp_path, "flaky", FLAKY))
    env = Environment(task, provider)
    count = "echo x >> /srv/log; wc -l < /srv/log; seq 100"
    episode, last = await play(env, [bash(count)] * 6 + [Action("submit")])
    seen = [step.observation for step in episode.steps]
    numbers = "\n".join(map(str, range(1, 101)))
    assert seen[0].text == "error: the gateway is being restarted"
    assert (seen[0].effect, dict(seen[0].data)) == (Effect.ERROR, {})
    assert (seen[1].effect, dict(seen[1].data)) == (Effect.TIMEOUT, {})
    # The first was not executed, the second was: the third is the second line.
    slow, *told = seen[2].text.split("[the answer took ")
    assert slow == f"2\n{numbers}\n"
    assert told[0] == "600 s]\n[notification] it is late"
    garbled = seen[3].text
    assert len(garbled) == len(f"3\n{numbers}\n") and garbled != f"3\n{numbers}\n"
    assert f"4\n{numbers}\n".startswith(seen[4].text) and 0 < len(seen[4].text) < 250
    assert seen[5].text == f"5\n{numbers}\n"
    details = [h.detail for step in episode.steps for h in step.events if h.kind is FAULT]
    assert details == [
        "bash call 1: error before commit",
        "bash call 2: timeout after commit",
        "bash call 3: slow, 600 s",
        "bash call 4: garbled after commit",
        "bash call 5: partial after commit",
    ]
    assert last.verdict.outcome


async def test_an_illegal_call_is_no_call_and_handing_in_never_fails(tmp_path, provider):
    task = load_task(write_living(tmp_path, "flaky", FLAKY))
    env = Environment(task, provider)
    episode, last = await play(env, [Action("bash", {"cmd": "ls"}), bash("ls"), Action("submit")])
    assert [[h.id for h in step.events] for step in episode.steps] == [[], ["down"], []]
    assert last.terminated and last.verdict.status == "scored"


async def test_a_failing_event_is_the_tasks_error(tmp_path, provider):
    files = changed(RELAY, trigger=("task.toml", 'when = "handed"', "at_step = 1"))
    files["events/rotate.sh"] = "echo cannot rotate >&2; exit 3\n"
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    episode = await env.start(0)
    with pytest.raises(TaskError, match=r"rotate.sh of event 'handed', run in the world as") as e:
        await episode.step(bash("cp /srv/in /srv/out"))
    assert str(e.value).endswith("ended with exit code 3; its last lines:\ncannot rotate")
    assert episode.steps == []
    await env.close()


FORKS = """python3 -c '
import os, time
for _ in range(600):
    try:
        child = os.fork()
    except OSError:
        break
    if child == 0:
        time.sleep(100)
'"""


@pytest.mark.parametrize(
    "sabotage",
    [
        "rm /srv/log; mkdir /srv/log",
        "rm -f /bin; mkdir /bin",
        FORKS,
    ],
)
async def test_who_sabotages_an_event_is_judged_all_the_same(tmp_path, provider, sabotage):
    script = "set -e; echo rotated >> /srv/log; test -x /bin/bash; sleep 0 | cat"
    files = changed(
        RELAY,
        pids=("task.toml", "[params]", "[limits]\npids = 60\n\n[params]"),
        # A bash that cannot fork tries again for a quarter of a minute.
        patience=("task.toml", 'rotate.sh"', 'rotate.sh"\ntimeout_s = 2'),
    )
    files["events/rotate.sh"] = script
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    episode = await env.start(0)
    await episode.step(bash(f"cp /srv/in /srv/out; {sabotage}"))
    dawn, handed = episode.steps[0].events
    assert handed.detail == (
        "2026-03-02T09:01:00Z, events/rotate.sh failed in what the agent had left, announced"
    )
    transition = await episode.step(Action("submit"))
    assert (transition.verdict.status, transition.verdict.outcome) == ("scored", False)


@pytest.mark.parametrize(
    ("trigger", "script"),
    [
        ("at_step = 1", "set -e; mv /srv/dawned /srv/done"),
        ('when = "handed"', "set -e; mv /srv/out /srv/done; test -e /srv/dawned"),
    ],
)
async def test_an_event_that_builds_on_another_or_on_the_agent_unscores_nothing(
    tmp_path, provider, trigger, script
):
    files = changed(RELAY, trigger=("task.toml", 'when = "handed"', trigger))
    files["events/dawn.sh"] += "\ntouch /srv/dawned\n"
    files["events/rotate.sh"] = script
    env = Environment(load_task(write_living(tmp_path, "relay", files)), provider)
    episode = await env.start(0)
    await episode.step(bash("rm -f /srv/dawned; cp /srv/in /srv/out"))
    assert "rotate.sh failed in what the agent had left" in episode.steps[0].events[1].detail
    transition = await episode.step(Action("submit"))
    assert (transition.verdict.status, transition.verdict.outcome) == ("scored", False)


async def test_a_sandbox_that_ends_under_an_event_ends_the_episode_judged(tmp_path, provider):
    files = changed(RELAY, wall=("task.toml", "[params]", "[limits]\nwall_s = 1\n\n[params]"))
    files["events/rotate.sh"] = "sleep 20\n"
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    episode, last = await play(env, [bash("cp /srv/in /srv/out")])
    assert last.terminated and last.verdict.status == "scored"
    assert "wall" in episode.steps[0].observation.text
    assert [h.id for h in episode.steps[0].events] == ["dawn"]
    assert next(c for c in last.verdict.checkpoints if c.id == "handed").step == 0


async def test_events_and_faults_must_name_what_there_is(tmp_path, provider):
    files = changed(RELAY, when=("task.toml", 'when = "handed"', 'when = "handled"'))
    task = load_task(write_living(tmp_path / "a", "relay", files))
    with pytest.raises(TaskError, match=r"task.toml:22: event.1.when: no milestone named 'handl"):
        Environment(task, provider)
    files = changed(RELAY, tool=("task.toml", 'tool = "bash"', 'tool = "bush"'))
    task = load_task(write_living(tmp_path / "b", "relay", files))
    with pytest.raises(TaskError, match=r"task.toml:33: fault.0.tool: no tool named 'bush'; did"):
        Environment(task, provider)


async def test_a_provider_that_cannot_look_runs_no_milestones(tmp_path, provider, monkeypatch):
    task = load_task(write_living(tmp_path, "relay", RELAY))
    monkeypatch.setattr(provider, "capabilities", provider.capabilities - {Capability.LOOK})
    with pytest.raises(UnsupportedError, match="relay-v1 has checkpoints with when"):
        Environment(task, provider)


CHECKS = {
    "changes": "def looked(evidence):\n    return len(evidence.changes) == 0\n",
    "room": "def looked(evidence):\n    return evidence.room().run(['true']).exit_code == 0\n",
    "crash": "def looked(evidence):\n    return 1 / 0\n",
}


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("changes", "checkpoint 'handed' is looked at after every step .* no `changes`"),
        ("room", "checkpoint 'handed' is looked at after every step .* no `room`"),
        ("crash", "ZeroDivisionError"),
    ],
)
async def test_a_broken_milestone_leaves_the_episode_unscored(tmp_path, provider, name, message):
    use = 'use = "files.text_equals"\nwith = { path = "/srv/out", text = "{{word}}" }\nwhen'
    files = changed(RELAY, use=("checks/rubric.toml", use, 'use = "checks.looked"\nwhen'))
    files["checks/checks.py"] = CHECKS[name]
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    episode, last = await play(env, [bash("true"), Action("submit")])
    assert last.verdict.status == "error:verifier"
    handed = next(c for c in last.verdict.checkpoints if c.id == "handed")
    assert handed.status is CheckStatus.ERROR
    assert re.search(message, handed.message), handed.message


LIVE = """\
def looked(evidence):
    if evidence.gold("answer") != b"gold":
        raise ValueError("no gold")
    ports = [port for process in evidence.processes for port in process.tcp_ports]
    commands = [step.action.arguments.get("command", "") for step in evidence.steps]
    new = evidence.before.stat("/srv/new") is None and evidence.after.stat("/srv/new") is not None
    return new and 8123 in ports and commands[-1].startswith("touch")
"""


async def test_live_evidence_has_trace_state_gold_and_processes(tmp_path, provider):
    use = 'use = "files.text_equals"\nwith = { path = "/srv/out", text = "{{word}}" }\nwhen'
    files = changed(RELAY, use=("checks/rubric.toml", use, 'use = "checks.looked"\nwhen'))
    files["checks/checks.py"] = LIVE
    files["setup/setup.sh"] += 'printf gold > "$AGENTGYM_GOLD/answer"\n'
    task = load_task(write_living(tmp_path, "relay", files))
    env = Environment(task, provider)
    listen = "python3 -m http.server 8123 > /dev/null 2>&1 & sleep 0.2;"
    wait = "until python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 8123))'"
    actions = [bash(f"{listen} {wait}; do sleep 0.1; done"), bash("touch /srv/new"), bash("ls")]
    episode, last = await play(env, [*actions, Action("submit")])
    handed = next(c for c in last.verdict.checkpoints if c.id == "handed")
    assert (handed.status, handed.step) == (CheckStatus.PASS, 1), handed
