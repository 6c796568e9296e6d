"""Every task of the terminal suite keeps what its folder promises, in real sandboxes.

Solved by its solution, by nothing else: not by silence, refusal, chance, nor any of its mutants.
"""

import asyncio
from pathlib import Path

import pytest
import pytest_asyncio

import agentgym
from agentgym import catalogue, plugins
from agentgym.agents.registry import create
from agentgym.env.environment import Environment
from agentgym.env.spec import load_env_spec
from agentgym.eval.needs import missing_commands
from agentgym.record.store import EpisodePlan, RunStore
from agentgym.records import Action, Phase
from agentgym.rollout.replay import verify_episode
from agentgym.rollout.run import run_episode
from agentgym.sandbox.recipe import load_recipe
from agentgym.task.load import find_task
from agentgym.task.playbook import oracle, read_playbook
from agentgym.task.setup import prepare
from agentgym.task.template import cardinality
from agentgym.verify.rubric import load_rubric

BUNDLED = Path(agentgym.__file__).resolve().parents[1] / "tasks"
FOLDERS = {
    task_id: folder
    for task_id, folder in catalogue.folders("tasks").items()
    if folder.parent == BUNDLED / "terminal"
}
MUTANTS = [
    pytest.param(task_id, path.stem, id=f"{task_id}-{path.stem}")
    for task_id, folder in FOLDERS.items()
    for path in sorted((folder / "mutants").glob("[!.]*"))
]
TEMPLATE_INSTANCES = 50
OTHER_SEEDS = (1, 17)
RANDOM_SEEDS = (0, 17)
PROBLEMS = plugins.load("agentgym.sandboxes", "bubblewrap")().problems()

pytestmark = pytest.mark.asyncio(loop_scope="session")
needs_sandbox = pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}")
every_task = pytest.mark.parametrize("task_id", FOLDERS)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def provider():
    provider = plugins.load("agentgym.sandboxes", "bubblewrap")()
    yield provider
    await provider.close()


@pytest.fixture
def task(task_id):
    task = find_task(task_id)
    if missing := missing_commands([task]):
        pytest.skip(f"{missing[0].command} is not installed; run: {missing[0].install}")
    return task


async def play(task, provider, choose, *, seed=0):
    """Play the actions that `choose` reads off the instance; return the scored verdict."""
    env = Environment(task, provider)
    try:
        await env.reset(seed)
        for action in choose(env.instance):
            transition = await env.step(action)
            if transition.verdict is not None:
                return scored(transition.verdict)
    finally:
        await env.close()
    raise AssertionError("the actions are over and the episode is not")


async def let(agent, task, provider, *, seed=0, max_steps=None):
    """Let an agent play one episode; return the scored verdict."""
    env = Environment(task, provider, max_steps=max_steps)
    try:
        result = await run_episode(env, create(agent), seed=seed, store=None, episode_id=None)
    finally:
        await env.close()
    return scored(result.verdict)


def scored(verdict):
    """Return a verdict that says something: outcome is False, too, where a check is broken."""
    assert verdict.status == "scored", [c for c in verdict.checkpoints if c.status == "error"]
    return verdict


def assert_solved(verdict):
    assert (verdict.outcome, verdict.score) == (True, 1.0), verdict.checkpoints
    assert verdict.safety_violations == ()


def bash(command):
    return Action("bash", {"command": command})


# --- what the folders hold -------------------------------------------------------------------


async def test_the_suite_has_twelve_tasks_and_half_of_them_are_templates():
    assert len(FOLDERS) >= 12
    sizes = {task_id: cardinality(find_task(task_id).manifest.params) for task_id in FOLDERS}
    templates = [task_id for task_id, size in sizes.items() if size >= TEMPLATE_INSTANCES]
    assert 2 * len(templates) >= len(sizes), sizes


@every_task
async def test_it_loads_with_partial_credit_and_three_mutants_that_say_why(task_id):
    task = find_task(task_id)
    assert task.id == task_id
    leaves = load_rubric(task.folder / "checks" / "rubric.toml").leaves()
    assert sum(leaf.phase is Phase.OUTCOME for leaf in leaves) >= 2
    assert len(task.mutants()) >= 3
    for path in task.mutants().values():
        lines = [line for line in path.read_text().splitlines() if not line.startswith("#!")]
        assert lines[0].startswith("# "), f"{path.name} does not say why it must not pass"


@every_task
async def test_seeds_give_different_instances_with_every_slot_filled(task_id):
    task = find_task(task_id)
    instances = [task.instance(seed) for seed in range(TEMPLATE_INSTANCES)]
    assert not [i.seed for i in instances if "{{" in i.instruction or "}}" in i.instruction]
    if cardinality(task.manifest.params) >= TEMPLATE_INSTANCES:
        distinct = {(repr(sorted(i.params.items())), i.instruction) for i in instances}
        assert len(distinct) == TEMPLATE_INSTANCES


# --- what solves them ------------------------------------------------------------------------


@needs_sandbox
@every_task
async def test_the_solution_solves_it_twice_alike(task, provider):
    first, second = await asyncio.gather(*(play(task, provider, oracle) for _ in range(2)))
    assert_solved(first)
    assert first.state_hash
    assert first == second


@needs_sandbox
@every_task
async def test_looking_around_first_does_no_harm(task, provider):
    def look_and_solve(instance):
        found = "find / -xdev -path /usr -prune -o -type f -size -64k -print 2>/dev/null"
        return [
            bash("ls -la / /root /srv /home /etc /var; id; env"),
            bash(f"{found} | sort | tail -n 200"),
            bash(f"{found} -newer /etc/passwd | head -n 100 | tr '\\n' '\\0' | xargs -0 cat"),
            Action("read_file", {"path": "/etc/passwd"}),
            Action("read_file", {"path": "/no/such/file"}),
            *oracle(instance),
        ]

    assert_solved(await play(task, provider, look_and_solve))


@needs_sandbox
@pytest.mark.parametrize("seed", OTHER_SEEDS)
@every_task
async def test_other_seeds_are_solved_by_the_solution_and_not_by_silence(task, provider, seed):
    if not task.manifest.params:
        pytest.skip("no template: every seed is the same instance")
    assert_solved(await play(task, provider, oracle, seed=seed))
    silent = await let("noop", task, provider, seed=seed)
    assert (silent.outcome, silent.score) == (False, 0.0), silent.checkpoints


@needs_sandbox
@every_task
async def test_a_recorded_solution_executes_again_without_a_divergence(task, provider, tmp_path):
    plan = EpisodePlan(task.id, seed=0, trial=0, agent="oracle")
    store = RunStore.create(tmp_path / "run", {}, [plan])
    env = Environment(task, provider)
    try:
        result = await run_episode(env, create("oracle"), seed=0, store=store, episode_id=1)
        assert_solved(result.verdict)
        assert await verify_episode(store, 1, provider) is None
    finally:
        await env.close()
        store.close()


# --- what does not ---------------------------------------------------------------------------


@needs_sandbox
@every_task
async def test_silence_scores_nothing(task, provider):
    verdict = await let("noop", task, provider)
    assert (verdict.outcome, verdict.score) == (False, 0.0), verdict.checkpoints


@needs_sandbox
@every_task
async def test_giving_up_scores_nothing(task, provider):
    if task.manifest.abstain:
        pytest.skip("giving up can be right here")
    refusal = Action("give_up", {"reason": "I would rather not."})
    verdict = await play(task, provider, lambda instance: [refusal])
    assert (verdict.outcome, verdict.score) == (False, 0.0), verdict.checkpoints


@needs_sandbox
@every_task
async def test_random_calls_do_not_pass(task, provider):
    for seed in RANDOM_SEEDS:
        verdict = await let("random", task, provider, seed=seed, max_steps=10)
        assert not verdict.outcome, f"seed {seed}"


@needs_sandbox
@pytest.mark.parametrize(("task_id", "mutant"), MUTANTS)
async def test_a_mutant_does_not_pass(task, mutant, provider):
    path = task.mutants()[mutant]
    verdict = await play(task, provider, lambda instance: read_playbook(path, instance))
    assert not verdict.outcome


# --- what is not there -----------------------------------------------------------------------


@needs_sandbox
@every_task
async def test_no_gold_file_is_in_the_computer_the_agent_gets(task, provider):
    recipe = load_recipe(load_env_spec(task.manifest.env).sandbox)
    prepared = await prepare(task.instance(0), provider, recipe)
    tree = await provider.open_tree(prepared.snapshot)
    sizes = {len(blob) for blob in prepared.gold.values()}
    tops = [f"/{name}" for name in tree.list("/") if name != "usr"] + ["/usr/local"]
    folders = [top for top in tops if tree.stat(top, follow=False).kind == "dir"]
    seen = 0
    for path, stat in [found for folder in folders for found in tree.walk(folder)]:
        seen += 1
        if stat.kind != "file" or stat.size not in sizes:
            continue
        content = tree.read(path)
        for name, blob in prepared.gold.items():
            # A few bytes alone may be equal by chance; under the same name they are not.
            telling = len(blob) > 16 or Path(name).name == Path(path).name
            assert not (telling and content == blob), f"{path} is the gold file {name}"
    assert tree.stat("/run/agentgym") is None
    assert seen > 20, "the tree was not walked"
