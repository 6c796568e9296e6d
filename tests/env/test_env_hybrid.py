"""A computer and services in one episode: setups, events, faults, evidence, record."""

import json
import zlib

import numpy as np
import pytest
from hybrid_desk import CALM_TASK, CALM_TOML, ENV_TOML, SOLUTION, TASK, write_desk

from agentgym.agents.dialogue import render, turns
from agentgym.agents.scripted import ScriptedAgent
from agentgym.chat.picture import picture_part
from agentgym.env.environment import Environment
from agentgym.env.spec import load_env_spec
from agentgym.errors import ConfigError, TaskError
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Effect
from agentgym.rollout.branch import branch_episodes
from agentgym.rollout.replay import Verification, verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider
from agentgym.task.load import find_task

PROBLEMS = BubblewrapProvider().problems()
pytestmark = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")

TASK_ID = "demo/both-v1"


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    return tmp_path / "catalogue"


@pytest.fixture
async def provider(root):
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


@pytest.fixture
async def desk(root, provider):
    """An episode of a task without events and faults."""
    write_desk(root, CALM_TASK)
    env = Environment(find_task(TASK_ID), provider)
    episode = await env.start(0)
    yield episode
    await env.close()


def program(code, **arguments):
    return Action("run_python", {"code": code, **arguments})


async def see(episode, tool, **arguments):
    return (await episode.step(Action(tool, arguments))).observation


def calls_of(episode):
    return [
        (entry.actor, entry.tool, entry.code) for entry in episode.dynamics.services_seen().calls
    ]


async def play(env, actions, seed=0):
    episode = await env.start(seed)
    for action in actions:
        transition = await episode.step(action)
    return episode, transition


async def recorded(tmp_path, provider, actions):
    """Return a run with one episode in which these actions were taken."""
    plan = tmp_path / "plan.jsonl"
    plan.write_text("".join(json.dumps(action.to_json()) + "\n" for action in actions))
    run = RunStore.create(
        tmp_path / "run", {}, [EpisodePlan(TASK_ID, seed=0, trial=0, agent=f"scripted:{plan}")]
    )
    env = Environment(find_task(TASK_ID), provider)
    agent = ScriptedAgent(str(plan))
    result = await run_episode(env, agent, seed=0, store=run, episode_id=1)
    await env.close()
    return run, result


# --- both at once --------------------------------------------------------------------------


async def test_one_task_of_a_computer_and_services(root, provider):
    env = Environment(find_task(write_desk(root).name and TASK_ID), provider)
    episode, last = await play(env, SOLUTION)
    word = episode.instance.params["word"]
    texts = [step.observation.text for step in episode.steps]
    assert texts[0] == (
        "unavailable shelf_add: no answer in time; it is not known whether the call was carried "
        "out\nunavailable\n1\n[notification] somebody has looked at the shelf"
    )
    assert texts[1] == "begun 2026-03-02T09:00:00Z\n"
    assert [h.detail for step in episode.steps for h in step.events] == [
        "2026-03-02T09:00:00Z, ran events/file.sh",
        "shelf_add call 2: timeout after commit",
        "shelf_finish call 1: error before commit",
        "2026-03-02T09:01:00Z, ran events/carried.py, announced",
        "2026-03-02T09:03:00Z, ran events/late.py",
    ]
    assert (last.verdict.status, last.verdict.score) == ("scored", 1.0)
    found = {c.id: c for c in last.verdict.checkpoints}
    assert found["carried"].step == 0
    assert {"state", "audit"} <= set(found["report"].channels)
    # The fault kept the first call of shelf_finish from the service, so the audit has one.
    agent = [tool for actor, tool, _ in calls_of(episode) if actor == "agent"]
    assert agent == [
        *("shelf_list_items", "shelf_add", "shelf_add", "shelf_list_items", "shelf_finish"),
        *("board_post", "shelf_list_items"),
    ]
    times = [
        entry.now for entry in episode.dynamics.services_seen().calls if entry.actor == "agent"
    ]
    assert times == [*["2026-03-02T09:00:00Z"] * 6, "2026-03-02T09:02:00Z"]
    assert word in texts[2]


async def test_the_state_hash_is_of_files_and_rows(root, provider):
    write_desk(root, CALM_TASK)
    env = Environment(find_task(TASK_ID), provider)
    hashes = []
    for actions in (
        [],
        [],
        [Action("bash", {"command": "echo x > /srv/x"})],
        [Action("shelf_add", {"title": "x"})],
        [program("shelf_add('x'); open('/srv/x', 'w').write('x\\n')")],
        [Action("shelf_add", {"title": "x"}), Action("bash", {"command": "echo x > /srv/x"})],
    ):
        hashes.append((await play(env, [*actions, Action("submit")]))[1].verdict.state_hash)
    nothing, again, file, row, by_program, by_tools = hashes
    assert nothing == again and by_program == by_tools
    assert len({nothing, file, row, by_program}) == 4


async def test_it_is_recorded_repeated_and_branched(root, tmp_path, provider):
    write_desk(root)
    run, result = await recorded(tmp_path, provider, SOLUTION)
    assert result.verdict.score == 1.0
    assert await verify_episode(run, 1, provider) == Verification()
    (branch,) = await branch_episodes(run, 1, 1, ["noop"], provider)
    kept = [[h.id for h in step.events] for step in run.steps(branch)]
    assert kept == [["file", "lost", "flaky", "carried"], []]
    assert run.episode(branch).verdict.scored
    run.close()


async def test_an_interrupted_episode_is_resumed(root, tmp_path, provider):
    write_desk(root)
    run, whole = await recorded(tmp_path, provider, SOLUTION)
    number = run.add(run.episode(1).plan)
    env = Environment(find_task(TASK_ID), provider)
    episode = await env.start(0)
    first = episode.first
    instance = episode.instance
    recorder = run.begin(
        number,
        params=instance.params,
        instruction=instance.instruction,
        sandbox="bubblewrap",
        reset_s=0.0,
        first=first,
    )
    await episode.close()
    for step in run.steps(1)[:2]:
        recorder.step(step)
    agent = ScriptedAgent(run.episode(1).plan.agent.partition(":")[2])
    result = await run_episode(env, agent, seed=0, store=run, episode_id=number)
    assert (result.steps, result.verdict.score) == (4, 1.0)
    assert result.verdict.state_hash == whole.verdict.state_hash
    assert "diverged" not in run.episode(number).log
    run.close()


@pytest.mark.parametrize(
    ("script", "text"), [("x.sh", "exit 3\n"), ("x.py", "def change(context):\n    1 / 0\n")]
)
async def test_a_broken_event_of_either_kind_is_the_tasks_own_fault(root, provider, script, text):
    event = f'[[event]]\nid = "x"\nat_step = 1\nrun = "events/{script}"\n'
    files = {**CALM_TASK, "task.toml": f"{CALM_TOML}\n{event}", f"events/{script}": text}
    write_desk(root, files)
    env = Environment(find_task(TASK_ID), provider)
    with pytest.raises(TaskError, match=f"events/{script}"):
        episode, _ = await play(env, SOLUTION)
    await env.close()


async def test_an_event_that_fails_in_what_the_agent_left_goes_on_the_record(root, provider):
    script = (
        "def change(context):\n"
        "    if context.db.value('SELECT count(*) FROM shelf_item') > 3:\n"
        "        context.call('board_post', text='half')\n"
        "        raise ValueError('too much')\n"
    )
    write_desk(root, {**TASK, "events/late.py": script})
    env = Environment(find_task(TASK_ID), provider)
    episode, _ = await play(env, SOLUTION[:-1])
    posted = episode.dynamics.services_seen().tables_after.rows("board_note")
    last = await episode.step(SOLUTION[-1])
    assert "events/late.py failed in what the agent had left" in str(episode.steps[2].events)
    assert last.verdict.score == 1.0
    assert "half" not in str(posted)


async def test_slow_and_damaged_answers_reach_programs_too(root, provider):
    fault = '[[fault]]\nid = "f{0}"\ntool = "shelf_{1}"\ncalls = [{2}]\nkind = "{3}"\n'
    faults = fault.format(1, "add", 1, "garbled") + fault.format(2, "add", 2, "partial")
    faults += fault.format(3, "finish", 1, "slow") + "delay_s = 600\n"
    faults += fault.format(4, "finish", 2, "error") + 'message = "the {{word}} broke"\n'
    write_desk(root, {**CALM_TASK, "task.toml": f"{CALM_TOML}\n{faults}"})
    env = Environment(find_task(TASK_ID), provider)
    episode = await env.start(0)
    code = (
        "for title in 'ab':\n    try:\n        shelf_add(title)\n"
        "    except ServiceError as error:\n        print(error.code, error.message[:31])\n"
        "shelf_finish(1)\nprint(board_post('x')['at'])\nshelf_finish(2)"
    )
    seen = await see(episode, "run_python", code=code)
    lines = seen.text.splitlines()
    assert lines[:3] == ["unavailable the answer came through damaged"] * 2 + [
        "2026-03-02T09:10:00Z"
    ]
    word = episode.instance.params["word"]
    assert f"services.ServiceError: unavailable: the {word} broke" in lines
    rows = episode.dynamics.services_seen().tables_after.rows("shelf_item")
    assert {"a", "b"} <= {row["title"] for row in rows}
    assert [h.id for h in episode.steps[0].events] == ["f1", "f2", "f3", "f4"]
    # The direct call of a tool is the third: programs and agent are counted together.
    assert (await see(episode, "shelf_add", title="c")).effect is Effect.CHANGED
    await env.close()


# --- pictures ------------------------------------------------------------------------------


async def test_a_picture_is_shown_named_and_passed_on(desk):
    seen = await see(desk, "shelf_look", item=2)
    name = seen.text
    assert name.startswith("image:") and seen.data == {"result": name}
    assert seen.image.shape == (4, 6, 3) and tuple(seen.image[0, 0]) == (80, 0, 0)
    posted = await see(desk, "board_post", text="look", picture=name)
    assert posted.effect is Effect.CHANGED and posted.data["result"]["picture"] == name
    assert np.array_equal(posted.image, seen.image)
    by_program = await see(desk, "run_python", code=f"board_post('again', {name!r})['picture']")
    assert by_program.text == name and np.array_equal(by_program.image, seen.image)
    unseen = await see(desk, "run_python", code="shelf_look(3)\n7")
    assert (unseen.text, unseen.image) == ("7", None)


async def test_an_unknown_picture_is_a_typed_error(desk):
    seen = await see(desk, "board_post", text="x", picture="image:0123456789ab")
    assert seen.effect is Effect.ERROR
    assert (seen.data["error"]["code"], seen.data["error"]["field"]) == ("not_found", "picture")
    seen = await see(desk, "board_post", text="x", picture="/etc/passwd")
    assert seen.effect is Effect.ERROR and "picture" in seen.text
    assert "board_post" not in [tool for _, tool, code in calls_of(desk) if not code]


async def test_a_record_holds_a_picture_once_and_repeats_it(root, tmp_path, provider):
    write_desk(root, CALM_TASK)
    name = "{item}"
    look = [Action("shelf_look", {"item": 1})]
    env = Environment(find_task(TASK_ID), provider)
    episode, _ = await play(env, look)
    name = episode.steps[0].observation.text
    await env.close()
    actions = [
        *look,
        Action("board_post", {"text": "x", "picture": name}),
        program("board_read()[0]['picture']"),
        Action("submit"),
    ]
    run, _ = await recorded(tmp_path, provider, actions)
    steps = run.steps(1)
    assert [step.observation.image is None for step in steps] == [False] * 3 + [True]
    blobs = [path for path in (tmp_path / "run/blobs").rglob("*") if path.is_file()]
    images = [path for path in blobs if zlib.decompress(path.read_bytes())[:4] == b"\x89PNG"]
    assert len(images) == 1
    assert await verify_episode(run, 1, provider) == Verification()
    # A branch goes on where the name is known.
    (branch,) = await branch_episodes(run, 1, 1, [run.episode(1).plan.agent], provider)
    posted = run.steps(branch)[1].observation
    assert posted.effect is Effect.CHANGED and posted.image is not None
    run.close()


async def test_a_model_is_shown_the_picture(desk):
    await see(desk, "shelf_look", item=1)
    said = render(turns(desk.steps), picture_part)
    kinds = [part["type"] for part in said[-1]["content"]]
    assert said[-1]["role"] == "user" and kinds == ["text", "image_url"]


# --- what cannot be ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('sandbox = "host"\n', "", "surface 'code' needs a computer"),
        ('services = "desk"\n', "", "needs services"),
        ('"code"]', '"code"]\n[surface.code]\ntools = ["nothing_*"]', "picks no tool"),
        ('"code"]', '"code"]\n[surface.code]\ntool = ["*"]', "did you mean 'tools'"),
    ],
)
def test_an_environment_that_cannot_be_is_told(root, old, new, words):
    write_desk(root, CALM_TASK, **{"env.toml": ENV_TOML.replace(old, new).replace('"shell", ', "")})
    with pytest.raises(ConfigError, match=words):
        load_env_spec("desk").make_surface_kinds()


async def test_a_program_may_be_the_only_way_to_some_tools(root, provider):
    env_toml = ENV_TOML.replace('"services", ', "")
    env_toml += '[surface.code]\ntools = ["shelf_*"]\n'
    fault = '[[fault]]\nid = "f"\ntool = "shelf_add"\ncalls = [1]\nkind = "error"\n'
    files = {**CALM_TASK, "task.toml": f"{CALM_TOML}\n{fault}"}
    write_desk(root, files, **{"env.toml": env_toml})
    env = Environment(find_task(TASK_ID), provider)
    assert [tool.name for tool in env.tools if "_" in tool.name] == [
        *("read_file", "write_file", "edit_file", "run_python", "give_up"),
    ]
    episode = await env.start(0)
    assert (await see(episode, "shelf_add", title="x")).text.startswith("error: no tool named")
    seen = await see(episode, "run_python", code="shelf_add('x')")
    assert "temporarily unavailable" in seen.text
    assert "NameError" in (await see(episode, "run_python", code="board_read()")).text
    await env.close()


async def test_a_users_own_tools_are_out_of_reach_of_programs(root, provider):
    user = (
        'schema_version = "agentgym.user/1"\nname = "Ada"\ngoal = "Wait."\nopening = "Hello."\n'
        'own = ["board_*"]\n[[state]]\nid = "there"\nabout = "you wait"\nidle = ["Well?"]\n'
    )
    toml = CALM_TOML.replace("\n[params]", "\n[user]\n\n[params]")
    write_desk(root, {**CALM_TASK, "task.toml": toml, "user.toml": user})
    env = Environment(find_task(TASK_ID), provider)
    (run_python,) = [tool for tool in env.tools if tool.name == "run_python"]
    assert "shelf_add" in run_python.description and "board_" not in run_python.description
    episode = await env.start(0)
    assert "NameError" in (await see(episode, "run_python", code="board_post('x')")).text
    code = (
        "import gc, socket\n"
        "found = [o for o in gc.get_objects() if isinstance(o, socket.socket)]\n"
        "line = next(o for o in found if o.fileno() >= 0).makefile('rwb')\n"
        """line.write(b'{"tool": "board_post", "arguments": {"text": "x"}}\\n')\n"""
        "line.flush()\nprint(line.readline())"
    )
    assert "no tool named" in (await see(episode, "run_python", code=code)).text
    assert not episode.dynamics.services_seen().row_changes
    await env.close()


@pytest.mark.docker
async def test_in_containers_it_goes_the_same_way(root, provider):
    write_desk(root)
    docker = DockerProvider()
    seen = []
    for place in (provider, docker):
        env = Environment(find_task(TASK_ID), place)
        episode, last = await play(env, SOLUTION)
        steps = [(s.observation.text, s.observation.effect, s.events) for s in episode.steps]
        seen.append((steps, last.verdict.score, calls_of(episode)))
    await docker.close()
    assert seen[0] == seen[1] and seen[0][1] == 1.0
