"""Domains of tau2-bench: their rules over a small library of our own, and what can break there."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from process_table import descendants, survivors

from agentgym.errors import MissingExtraError, NotFoundError, SandboxEndedError, TaskError
from agentgym.formats.tau2.checkout import Checkout, open_checkout
from agentgym.formats.tau2.domain_services import TalkServices
from agentgym.formats.tau2.model import GoldAction, read_task
from agentgym.formats.tau2.process import DomainProcess, WorldGoneError, WorldRaisedError
from agentgym.formats.tau2.replay import TaskReplay, replay_domain
from agentgym.formats.tau2.reward import Reward, judge
from agentgym.formats.tau2.talk import Talk

LIBRARY = Path(__file__).with_name("tau2_checkout")
TASKS = Path("data", "tau2", "domains", "library", "tasks.json")
PYTHON = Path("src", "tau2", "domains", "library", "environment.py")


@pytest.fixture
def library() -> Checkout:
    return open_checkout(LIBRARY)


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """A copy of the library to break."""
    return Path(shutil.copytree(LIBRARY, tmp_path / "broken"))


@pytest.fixture(scope="module")
def replayed() -> dict[str, TaskReplay]:
    found = replay_domain(open_checkout(LIBRARY), "library", call_s=20)
    assert found.problem == ""
    return {task.id: task for task in found.tasks}


# Each expectation follows from reading the task beside the library's own Python.
@pytest.mark.parametrize(
    ("task", "gold", "noop"),
    [
        ("lend", 1, 0),
        ("nothing-to-do", 1, 1),
        ("no-criteria", 1, 1),
        ("gold-raises", 1, 0),
        ("reader-pays", 1, 0),
        ("assertion-fails", 0, 0),
        ("judged-by-model", None, 0),
        ("said-with-a-comma", 0, 0),
        ("begun-before", 1, 0),
        ("never-the-same", None, 0),
    ],
)
def test_reference_solution_and_inaction_earn(
    replayed: dict[str, TaskReplay], task: str, gold: float | None, noop: float
) -> None:
    found = replayed[task]
    assert found.gold is not None and found.noop is not None
    assert (found.gold.value, found.noop.value) == (gold, noop)


def test_every_task_is_replayed(replayed: dict[str, TaskReplay]) -> None:
    assert len(replayed) == 10


def test_what_reference_calls_raise_is_told(replayed: dict[str, TaskReplay]) -> None:
    raised = [(one.call, one.error) for one in replayed["gold-raises"].raised]
    assert raised == [
        ("find(title='Dunes')", "KeyError: 'no book Dunes'"),
        ("lend(title='Flint', reader='Ben')", "ValueError: Flint is lent"),
    ]
    assert [task.id for task in replayed.values() if task.raised] == ["gold-raises"]


def test_sentences_for_a_model_are_not_guessed(replayed: dict[str, TaskReplay]) -> None:
    found = replayed["judged-by-model"]
    assert found.needs_judge and found.gold is not None
    assert found.gold.unjudged == ("The agent is polite.",)
    assert found.gold.parts == {"DB": 1}
    # Where another part fails, no opinion can save it.
    assert found.noop is not None and found.noop.value == 0


def test_tools_that_answer_otherwise_when_repeated_leave_a_task_unjudged(
    replayed: dict[str, TaskReplay],
) -> None:
    assert "AssertionError: number answered" in replayed["never-the-same"].trouble


def test_a_limit_takes_the_first_tasks(library: Checkout) -> None:
    heard: list[tuple[int, int]] = []

    def hear(done: int, total: int) -> None:
        heard.append((done, total))

    found = replay_domain(library, "library", limit=2, call_s=20, heard=hear)
    assert [task.id for task in found.tasks] == ["lend", "nothing-to-do"]
    assert heard == [(0, 2), (1, 2)]


def messages(name: str, **arguments: str) -> list[dict[str, object]]:
    call = {"id": "1", "name": name, "arguments": arguments, "requestor": "user"}
    return [
        {"role": "user", "content": None, "tool_calls": [call]},
        {"role": "tool", "id": "1", "requestor": "user", "content": "", "error": True},
    ]


@pytest.mark.parametrize(
    ("call", "compare_args", "reward"),
    [
        (messages("find", title="Tides", shelf="9"), None, 0),
        (messages("find", title="Tides"), None, 1),
        (messages("find"), None, 1),  # only what the call names is compared
        (messages("find", title="Moss"), None, 0),
        (messages("find", title="Moss"), [], 1),
        (messages("find", title="Tides", shelf="9"), ["title"], 1),
        (messages("wait", title="Tides"), None, 0),
        ([], None, 0),
    ],
)
def test_action_part_matches_calls(
    library: Checkout,
    call: list[dict[str, object]],
    compare_args: list[str] | None,
    reward: float,
) -> None:
    gold = {"name": "find", "arguments": {"title": "Tides", "room": "2"}}
    criteria = {"actions": [{**gold, "compare_args": compare_args}], "reward_basis": ["ACTION"]}
    task = read_task({"id": "x", "evaluation_criteria": criteria})
    with DomainProcess(library, "library") as process:
        assert judge(process, task, call) == Reward(
            {"ACTION": reward}, raised=judge(process, task, []).raised
        )


@pytest.mark.parametrize(
    ("said", "side", "reward"),
    [
        ("It is due in TWO weeks.", "assistant", 1),
        ("It is due in two, weeks.", "assistant", 1),
        ("It is due in two weeks.", "user", 0),
        ("It is due soon.", "assistant", 0),
    ],
)
def test_communicate_part_looks_for_texts(
    library: Checkout, said: str, side: str, reward: float
) -> None:
    criteria = {"communicate_info": ["two weeks"], "reward_basis": ["COMMUNICATE"]}
    task = read_task({"id": "x", "evaluation_criteria": criteria})
    with DomainProcess(library, "library") as process:
        found = judge(process, task, [{"role": side, "content": said}])
    assert found.parts == {"COMMUNICATE": reward}


def test_a_task_that_is_none_is_told() -> None:
    with pytest.raises(TaskError, match=r"tau2 task '7': evaluation_criteria\.reward_basis\.0"):
        read_task({"id": "7", "evaluation_criteria": {"reward_basis": ["TASTE"]}})
    assert str(GoldAction(name="lend", arguments={"title": "Moss"})) == "lend(title='Moss')"


def test_a_checkout_is_only_read(library: Checkout) -> None:
    def content() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in LIBRARY.rglob("*") if path.is_file()}

    before = content()
    replay_domain(library, "library", limit=1, call_s=20)
    assert content() == before


def test_what_it_says_is_no_report_and_what_this_process_knows_stays_here(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    with (broken / PYTHON).open("a") as file:
        file.write('\nprint("{}")\nimport os\nassert "OPENAI_API_KEY" not in os.environ\n')
    assert replay_domain(open_checkout(broken), "library", limit=1, call_s=20).problem == ""


def test_calls_that_hang_end_their_world_and_no_other(library: Checkout) -> None:
    task = read_task({"id": "x"})
    with DomainProcess(library, "library", call_s=1.0) as process, process.world() as other:
        began = time.monotonic()
        with process.world() as world, pytest.raises(TaskError, match="not end within 1 s"):
            Talk(world, task).call("wait", {})
        assert time.monotonic() - began < 20
        other.begin(task, [])
        assert other.ask("holds", assertion=_lent("Flint")) is True


def _lent(title: str) -> dict[str, object]:
    wanted = {"func_name": "is_lent", "arguments": {"title": title}, "assert_value": True}
    return {"env_type": "assistant", **wanted}


def test_whose_call_ended_a_world_is_known(library: Checkout) -> None:
    task = read_task({"id": "x"})
    with DomainProcess(library, "library", call_s=0.5) as process:
        with process.world() as world:
            theirs = Talk(world, task)
            with pytest.raises(WorldGoneError, match="'wait' did not end within 0.5 s"):
                TalkServices(theirs).call("wait", {}, "user")
            assert theirs.broken == ""
        with process.world() as world:
            own = Talk(world, task)
            with pytest.raises(SandboxEndedError, match=r"'wait' did not end .* is scored 0"):
                TalkServices(own).call("wait", {})
            assert "'wait' did not end" in own.broken


def test_a_killed_domain_is_nobodys_call(library: Checkout) -> None:
    with DomainProcess(library, "library") as process, process.world() as world:
        services = TalkServices(Talk(world, read_task({"id": "x"})))
        os.killpg(process._process.pid, signal.SIGKILL)
        process._process.wait()
        with pytest.raises(TaskError) as raised:
            services.call("find", {"title": "Moss"})
        assert not isinstance(raised.value, WorldGoneError)


def test_an_answer_that_is_too_long_ends_its_world(
    library: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    with DomainProcess(library, "library") as process, process.world() as world:
        monkeypatch.setattr("agentgym.formats.tau2.process._MOST_CHARS", 200)
        title = {"title": "x" * 1_000}
        with pytest.raises(WorldGoneError, match="'find' answered more than 200 characters"):
            world.ask("call", name="find", arguments=title, requestor="assistant")


def test_calls_that_are_repeated_have_the_time_of_each(library: Checkout) -> None:
    task = read_task({"id": "x", "evaluation_criteria": {"actions": []}})
    with DomainProcess(library, "library", call_s=1.0) as process, process.world() as world:
        talk = Talk(world, task)
        for _ in range(2):
            assert talk.call("count", {}).content == "3"
        assert judge(process, task, talk.messages).parts["DB"] == 1


def test_a_world_that_is_closed_answers_who_waits(library: Checkout) -> None:
    with DomainProcess(library, "library") as process, process.world() as world:
        talk = Talk(world, read_task({"id": "x"}))
        began = time.monotonic()
        threading.Timer(0.3, world.close).start()
        with pytest.raises(TaskError):
            talk.call("wait", {})
        assert time.monotonic() - began < 30


def test_a_task_whose_call_hangs_is_told_and_the_next_goes_on(broken: Path) -> None:
    text = (broken / TASKS).read_text().replace('"name": "find"', '"name": "wait"')
    (broken / TASKS).write_text(text.replace('"title": "Tides"\n', "\n", 1))
    found = replay_domain(open_checkout(broken), "library", limit=2, call_s=1.0)
    assert found.problem == ""
    assert ["did not end" in task.trouble for task in found.tasks] == [True, False]


def test_worlds_know_nothing_of_each_other(library: Checkout) -> None:
    task = read_task({"id": "x"})
    with DomainProcess(library, "library") as process, process.world() as one:
        talk = Talk(one, task)
        assert talk.call("lend", {"title": "Tides", "reader": "Ben"}).content == "lent"
        with process.world() as other:
            other.begin(task, [])
            assert other.ask("holds", assertion=_lent("Tides")) is False


def test_nothing_is_left_behind(library: Checkout) -> None:
    process = DomainProcess(library, "library")
    world = process.world()
    world.begin(read_task({"id": "x"}), [])
    # What other tests have kept in this process is none of it.
    family = descendants(process._process.pid)
    assert family
    folder = process._folder.name
    process.close()
    deadline = time.monotonic() + 10
    while survivors(family) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not survivors(family)
    assert not Path(folder).exists()
    with pytest.raises(TaskError):
        world.ask("hashes")
    world.close()


def test_a_killed_owner_leaves_neither_process_nor_folder() -> None:
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from agentgym.formats.tau2.checkout import open_checkout\n"
        "from agentgym.formats.tau2.process import DomainProcess\n"
        "process = DomainProcess(open_checkout(Path(sys.argv[1])), 'library')\n"
        "print(process._process.pid, process._folder.name, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    command = [sys.executable, "-c", program, str(LIBRARY)]
    killed = subprocess.run(command, capture_output=True, text=True, timeout=60)
    pid, folder = killed.stdout.split(maxsplit=1)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and Path(folder.strip()).exists():
        time.sleep(0.05)
    assert not Path(folder.strip()).exists()
    while time.monotonic() < deadline and Path("/proc", pid).exists():
        time.sleep(0.05)
    assert not Path("/proc", pid).exists()


def test_a_killed_process_is_told(library: Checkout) -> None:
    with DomainProcess(library, "library") as process:
        os.killpg(process._process.pid, signal.SIGKILL)
        process._process.wait()
        with pytest.raises(TaskError, match="its process is gone"):
            process.tasks()


@pytest.mark.parametrize(
    ("path", "text", "problem"),
    [
        (PYTHON, "def (:\n", "cannot be imported: SyntaxError"),
        (PYTHON, "import not_a_package\n", "module not_a_package is not installed; run: "),
        (PYTHON, "import sys\nsys.exit(3)\n", "cannot be imported: SystemExit: 3"),
        (PYTHON, "import os\nos.write(2, b'bad luck')\nos._exit(3)\n", "Python ended: bad luck"),
        (PYTHON, "raise ValueError('so ' * 9000)\n", "imported: ValueError: so so so"),
        (TASKS, None, "data/tau2/domains/library/tasks.json is absent"),
        (TASKS, "[", "JSONDecodeError"),
        (TASKS.with_name("db.json"), None, "data/tau2/domains/library/db.json is absent"),
    ],
)
def test_broken_domains_say_what_is_wrong(
    broken: Path, path: Path, text: str | None, problem: str
) -> None:
    if text is None:
        (broken / path).unlink()
    else:
        (broken / path).write_text(text)
    found = replay_domain(open_checkout(broken), "library", call_s=20)
    assert problem in found.problem
    assert len(found.problem) < 600
    assert found.tasks == ()


def test_smaller_task_files_stand_in(broken: Path) -> None:
    (broken / TASKS).rename((broken / TASKS).with_name("tasks_small.json"))
    shutil.copy(LIBRARY / TASKS, (broken / TASKS).with_name("tasks_voice.json"))
    found = replay_domain(open_checkout(broken), "library", limit=1, call_s=20)
    assert (found.source, len(found.tasks)) == ("tasks_small.json", 1)


def test_an_import_that_hangs_has_a_deadline(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym.formats.tau2.process.START_S", 1.0)
    (broken / PYTHON).write_text("import time\ntime.sleep(600)\n")
    found = replay_domain(open_checkout(broken), "library", call_s=20)
    assert "was not imported within 1 s" in found.problem


def test_its_own_exceptions_keep_the_world(library: Checkout) -> None:
    with DomainProcess(library, "library") as process, process.world() as world:
        world.begin(read_task({"id": "x"}), [])
        with pytest.raises(WorldRaisedError, match="ValueError: Flint is lent"):
            world.ask(
                "act",
                name="lend",
                arguments={"title": "Flint", "reader": "Ben"},
                requestor="assistant",
            )
        assert world.ask("holds", assertion=_lent("Flint")) is True


def test_which_python_runs_it(broken: Path) -> None:
    assert open_checkout(broken).python == sys.executable
    own = broken / ".venv" / "bin" / "python"
    own.parent.mkdir(parents=True)
    own.symlink_to(sys.executable)
    assert open_checkout(broken).python == str(own)
    with pytest.raises(TaskError, match="/no/python cannot be started"):
        DomainProcess(open_checkout(broken, "/no/python"), "library")


def test_folders_that_are_no_checkout(tmp_path: Path, library: Checkout) -> None:
    with pytest.raises(TaskError, match="expected a checkout of tau2-bench"):
        open_checkout(tmp_path)
    with pytest.raises(NotFoundError, match="did you mean 'library'"):
        DomainProcess(library, "libary")


def test_missing_packages_come_with_a_command(broken: Path) -> None:
    (broken / PYTHON).write_text("import addict_\n")
    with pytest.raises(MissingExtraError, match=r"-m pip install addict_"):
        DomainProcess(open_checkout(broken), "library")
