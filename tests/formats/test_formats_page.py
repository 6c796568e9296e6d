"""docs/formats.md: a format of somebody else's loads, plays, is judged, recorded and regraded."""

import importlib
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from installed_format import COMMANDS, FILES, PUZZLE, install, write_puzzle
from typer.testing import CliRunner

from agentgym import catalogue, task_formats
from agentgym.authoring.choose import task_folders
from agentgym.cli.app import app
from agentgym.env.environment import Environment
from agentgym.errors import AgentGymError, ConfigError, NotFoundError, PluginError, TaskError
from agentgym.records import Action, TaskSandbox
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.task.load import find_task
from agentgym.testing.task_format import TaskFormatContract
from agentgym.verify.version import verifier_version

RIGHT = Action("bash", {"command": "echo 42 > /root/answer.txt"})
WRONG = Action("bash", {"command": "echo 41 > /root/answer.txt"})


@pytest.fixture(autouse=True)
def installed(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    install(site)
    monkeypatch.syspath_prepend(site)
    monkeypatch.chdir(tmp_path)
    yield site
    importlib.invalidate_caches()


@pytest.fixture
async def provider():
    provider = BubblewrapProvider()
    yield provider
    await provider.close()


def run(line):
    """Run a command of the page and return its exit code and output."""
    program, *words = shlex.split(line)
    assert program == "agentgym"
    result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_a_folder_is_found_by_its_format(tmp_path):
    folder = write_puzzle(tmp_path / "puzzles/sum")
    assert catalogue.match_tasks("./puzzles") == [str(folder)] == catalogue.match_tasks(str(folder))
    task = find_task("./puzzles/sum")
    assert (task.id, task.manifest.title, task.manifest.max_steps) == (str(folder), "sum", 10)
    assert task.instruction.startswith(PUZZLE["question"])
    assert task.foreign.format == "puzzle"


@pytest.mark.slow
def test_the_commands_of_the_page_do_what_it_says(tmp_path):
    write_puzzle(tmp_path / "puzzles/sum")
    write_puzzle(tmp_path / "puzzles/word", answer="a b", solution="echo a b")
    check, evaluate, replay, regrade = COMMANDS
    code, out = run(check)
    assert (code, "unsound" in out) == (0, False), out
    code, out = run(evaluate)
    assert code == 0, out
    results = json.loads((tmp_path / "run/results.json").read_text())
    scores = {agent: row["mean_score"] for agent, row in results["summary"].items()}
    assert scores == {"oracle": 1.0, "noop": 0.0}
    code, out = run(replay)
    assert code == 0, out
    code, out = run(regrade.replace(" --rerun", ""))
    assert "0 replaced" in out and "--rerun" in out
    code, out = run(regrade)
    assert (code, "1 replaced" in out) == (0, True), out
    code, out = run(regrade.replace(" --force", ""))
    assert "1 current" in out


async def test_both_of_a_fork_are_judged_by_the_rules(provider, tmp_path):
    task = find_task(str(write_puzzle(tmp_path / "sum")))
    async with Environment(task, provider) as environment:
        episode = await environment.start(0)
        await episode.step(WRONG)
        child = await episode.fork()
        await child.step(RIGHT)
        scores = [(await one.finish()).score for one in (child, episode)]
        assert scores == [1.0, 0.0]


@pytest.mark.parametrize("offline", [False, True])
async def test_the_rules_get_recipes_of_other_sandboxes(provider, tmp_path, offline):
    task = find_task(str(write_puzzle(tmp_path / "sum")))
    (tmp_path / "Dockerfile").write_text("FROM debian\n")
    given = []

    class Rules:
        def open_episode(self, context):
            given.append(context)
            return task.foreign.rules.open_episode(context)

    foreign = replace(task.foreign, rules=Rules(), judging_s=50.0)
    limits = task.manifest.limits.model_copy(update={"wall_s": 30.0})
    manifest = task.manifest.model_copy(update={"limits": limits})
    watched = replace(task, foreign=foreign, manifest=manifest)
    async with (
        Environment(watched, provider, offline=offline) as environment,
        await environment.start(0),
    ):
        other = TaskSandbox(
            context=tmp_path,
            network="open",
            env={"PLACE": "here"},
            workdir="/srv",
            memory_mb=512,
        )
        recipe = given[0].recipe_of(other)
    assert recipe.network == ("none" if offline else "open")
    assert (recipe.limits.memory_mb, recipe.limits.wall_s) == (512, 80.0)
    assert (recipe.env["PLACE"], recipe.workdir) == ("here", "/srv")


async def test_the_answer_decides_the_version(tmp_path):
    one = find_task(str(write_puzzle(tmp_path / "a")))
    same = find_task(str(write_puzzle(tmp_path / "b")))
    other = find_task(str(write_puzzle(tmp_path / "c", answer="43")))
    assert verifier_version(one) == verifier_version(same) != verifier_version(other)


def test_a_broken_folder_says_what_is_wrong(tmp_path):
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken/puzzle.json").write_text('{"question": "?"}')
    with pytest.raises(TaskError, match=r"puzzle\.json: KeyError\('answer'\)"):
        find_task("./broken")


def test_an_installed_format_is_listed():
    listed = [line.split()[0] for line in run("agentgym list formats")[1].splitlines()[1:]]
    assert listed == ["harbor", "osworld", "puzzle", "swebench", "tau2", "terminal-bench"]
    with pytest.raises(NotFoundError, match="no task format named 'puzle'; did you mean 'puzzle'"):
        run("agentgym list formats puzle")


def test_two_formats_that_claim_a_folder_are_named(tmp_path):
    folder = write_puzzle(tmp_path / "both")
    (folder / "task.yaml").write_text("instruction: x\n")
    with pytest.raises(TaskError, match="'puzzle' and 'terminal-bench' recognise this folder"):
        find_task(str(folder))


def test_a_format_without_suites_says_how_its_folders_are_named():
    with pytest.raises(ConfigError, match="suites of puzzle are not imported"):
        run("agentgym suite import puzzle ./somewhere")
    with pytest.raises(NotFoundError, match="no task format named 'puzzel'; did you mean 'puzzle'"):
        run("agentgym suite import puzzel ./somewhere")
    out = run("agentgym suite import --help")[1]
    assert "tau2" in out and "puzzle" not in out


def install_module(root, name, source):
    """Install a package with one module, which offers the class `Format` as a format."""
    root.mkdir()
    (root / f"agentgym_{name}.py").write_text(source)
    info = root / f"agentgym_{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: agentgym-{name}\nVersion: 1.0\n")
    point = f"[agentgym.task_formats]\n{name} = agentgym_{name}:Format\n"
    (info / "entry_points.txt").write_text(point)
    return root


def test_a_broken_format_disturbs_its_own_folders_only(tmp_path, monkeypatch):
    broken = "raise SystemError('half installed')\n"
    monkeypatch.syspath_prepend(install_module(tmp_path / "other", "hurt", broken))
    assert find_task(str(write_puzzle(tmp_path / "sum"))).foreign.format == "puzzle"
    assert find_task("terminal/git-repair-v1").foreign is None
    (tmp_path / "unknown").mkdir()
    for look in (find_task, catalogue.match_tasks, lambda path: task_folders([path])):
        with pytest.raises(AgentGymError, match="half installed"):
            look(str(tmp_path / "unknown"))


@pytest.mark.parametrize("given", ["{}['command']", "'a text'", "print"])
def test_a_broken_import_command_disturbs_no_other(tmp_path, monkeypatch, given):
    source = (
        "class Format:\n    name = 'odd'\n    detect = load = lambda self, folder: False\n"
        f"    def import_command(self):\n        return {given}\n"
    )
    monkeypatch.syspath_prepend(install_module(tmp_path / "other", "odd", source))
    assert "tau2" in run("agentgym suite import --help")[1]
    with pytest.raises(PluginError, match="task format 'odd'"):
        run("agentgym suite import odd ./somewhere")


def test_the_engine_names_no_format():
    """No module outside of `agentgym.formats` holds the name of a format it ships."""
    package = Path(task_formats.__file__).parent
    words = ("harbor", "terminal_bench", "terminal-bench", "tau2", "agentgym.formats.")
    found = [
        f"{path}: {word}"
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] != "formats"
        for word in words
        if word in path.read_text().lower()
    ]
    assert found == []


def contract():
    scope = {}
    exec(FILES["test_contract.py"], scope)
    return scope["TestPuzzles"]


@pytest.mark.parametrize("name", [n for n in dir(TaskFormatContract) if n.startswith("test_")])
def test_it_passes_the_contract(name):
    getattr(contract()(), name)()


def test_the_help_of_an_import_shows_a_call_that_names_all_it_needs():
    for command in ("task import swebench FILE --clones DIR", "suite import tau2 PATH"):
        group, _, name, *_ = command.split()
        assert command in run(f"agentgym {group} import {name} --help")[1]
