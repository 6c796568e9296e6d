"""Imported tasks of tau2-bench as environments: the library of our own, played and judged."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agentgym import catalogue
from agentgym.env.environment import Environment
from agentgym.errors import TaskError, VerifierError
from agentgym.formats.tau2.checkout import open_checkout
from agentgym.formats.tau2.process import RETRIEVAL, DomainProcess
from agentgym.formats.tau2.suite import write_suite
from agentgym.formats.tau2.task import Tau2TaskRules
from agentgym.protocols import Judge
from agentgym.records import Action, Criterion, Exhibit, Judgement, Met, Verdict
from agentgym.sandbox.absent import NoSandboxProvider
from agentgym.task.load import find_task
from agentgym.task.reference_actions import oracle
from agentgym.verify.version import verifier_version

LIBRARY = Path(__file__).parents[1] / "formats" / "tau2_checkout"
TASKS = ["lend", "reader-pays", "judged-by-model", "begun-before", "[odd] Name", "odd name"]


@pytest.fixture(scope="module", autouse=True)
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(tmp_path_factory.mktemp("cache")))
        write(LIBRARY, TASKS)
        yield


def write(folder: Path, tasks: list[str], domain: str = "library") -> None:
    root, checkout = catalogue.imported_dir(), open_checkout(folder)
    write_suite(root, checkout, domain, tasks, source="", retrieval=RETRIEVAL)


async def play(
    name: str, *actions: Action, max_steps: int | None = None, judge: Judge | None = None
) -> Verdict:
    task = find_task(f"tau2-library/{name}-v1")
    env = Environment(task, NoSandboxProvider(), max_steps=max_steps, judge=judge)
    try:
        episode = await env.start(0)
        for action in actions:
            transition = await episode.step(action)
        assert transition.verdict is not None
        return transition.verdict
    finally:
        await env.close()


class Reader:
    """A judge that looks for a word: what is met is said by somebody."""

    name, grading_s = "reader", 0.0

    def __init__(self, word: str) -> None:
        self.word = word
        self.read: list[str] = []

    def decide(self, criterion: Criterion, exhibits: Sequence[Exhibit], **how: object) -> Judgement:
        assert criterion.text == "The agent is polite."
        self.read = [f"{exhibit.title}: {exhibit.text}" for exhibit in exhibits]
        if not self.word:
            raise VerifierError("the judge is out")
        met = Met.YES if self.word in " ".join(self.read) else Met.NO
        return Judgement(met, "", float(met is Met.YES), "", (), (), self.name)


def solution(name: str) -> tuple[Action, ...]:
    return oracle(find_task(f"tau2-library/{name}-v1").instance(0))


SUBMIT = Action("submit")


def test_imported_tasks_are_a_suite_and_none_of_their_data_is_copied() -> None:
    assert catalogue.match_tasks("tau2-library") == [
        "tau2-library/begun-before-v1",
        "tau2-library/judged-by-model-v1",
        "tau2-library/lend-v1",
        "tau2-library/odd-name-2-v1",
        "tau2-library/odd-name-v1",
        "tau2-library/reader-pays-v1",
    ]
    files = [path for path in catalogue.imported_dir().rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"task.toml"}
    assert not any("Flint" in path.read_text() for path in files)


def test_a_second_import_takes_the_place_of_the_first(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(LIBRARY, tmp_path / "copy"))
    for kind in ("src", "data"):
        folder = copy / kind / "tau2" / "domains"
        (folder / "library").rename(folder / "archive")
    write(copy, ["lend", "gold-raises"], "archive")
    write(copy, ["lend"], "archive")
    assert catalogue.match_tasks("tau2-archive") == ["tau2-archive/lend-v1"]
    assert [path.name for path in catalogue.imported_dir().iterdir()] == ["tasks"]
    shutil.rmtree(copy)
    with pytest.raises(TaskError, match="expected a checkout of tau2-bench"):
        find_task("tau2-archive/lend-v1")
    shutil.rmtree(catalogue.imported_dir() / "tasks" / "tau2-archive")


def test_a_task_that_is_gone_says_how_to_import_again() -> None:
    with pytest.raises(TaskError, match="has no task 'odd name' in domain 'library' any more"):
        find_task("tau2-library/odd-name-2-v1")


async def test_the_first_observation_has_policy_and_earlier_messages() -> None:
    env = Environment(find_task("tau2-library/begun-before-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        first = episode.first
    finally:
        await env.close()
    assert "A reader who owes a fine pays it first." in first.text
    assert "[assistant] Tides and Moss is yours" in first.text
    names = [tool.name for tool in env.tools]
    assert names == ["find", "lend", "wait", "message_user", "submit", "give_up"]


@pytest.mark.parametrize("name", ["lend", "reader-pays", "begun-before"])
async def test_reference_solutions_pass_and_inaction_fails(name: str) -> None:
    done = await play(name, *solution(name))
    assert (done.status, done.outcome, done.score) == ("scored", True, 1.0)
    idle = await play(name, SUBMIT)
    assert (idle.status, idle.outcome, idle.score) == ("scored", False, 0.0)
    assert done.verifier == idle.verifier
    again = await play(name, *solution(name))
    assert done.state_hash == again.state_hash != idle.state_hash
    assert done.verifier == verifier_version(find_task(f"tau2-library/{name}-v1"))


async def test_parts_of_the_reward_are_checkpoints() -> None:
    lend = Action("lend", {"title": "Tides", "reader": "Ben"})
    verdict = await play("reader-pays", lend, SUBMIT)
    parts = {checkpoint.id: str(checkpoint.status) for checkpoint in verdict.checkpoints}
    assert parts == {"DB": "fail", "ENV_ASSERTION": "fail", "ACTION": "fail"}


async def test_one_write_too_many_costs_the_reward() -> None:
    more = Action("lend", {"title": "Moss", "reader": "Ben"})
    verdict = await play("lend", more, *solution("lend"))
    assert (verdict.outcome, verdict.score) == (False, 0.0)


async def test_what_was_said_to_the_customer_counts() -> None:
    find, lend, _ = solution("lend")
    said = Action("message_user", {"text": "You have it for two weeks."})
    assert (await play("lend", find, lend, said, SUBMIT)).outcome
    assert not (await play("lend", find, lend, SUBMIT)).outcome


async def test_an_unfinished_conversation_earns_nothing() -> None:
    find, lend, submit = solution("lend")
    verdict = await play("lend", find, lend, max_steps=2)
    assert (verdict.status, verdict.score) == ("scored", 0.0)
    assert "neither side ended" in verdict.checkpoints[0].message
    assert (await play("lend", find, lend, submit)).outcome


async def test_giving_up_is_no_success() -> None:
    find, lend, _ = solution("lend")
    said = Action("message_user", {"text": "two weeks"})
    assert not (await play("lend", find, lend, said, Action("give_up", {"reason": "x"}))).outcome


async def test_a_sentence_for_a_model_leaves_the_episode_unscored() -> None:
    verdict = await play("judged-by-model", *solution("judged-by-model"))
    assert verdict.status == "error:verifier"
    assert any("The agent is polite." in one.message for one in verdict.checkpoints)
    assert (await play("judged-by-model", SUBMIT)).status == "scored"


async def test_a_judge_decides_sentences_over_the_conversation() -> None:
    (lend, submit), hello = (
        solution("judged-by-model"),
        Action("message_user", {"text": "Dear Ben"}),
    )
    reader = Reader("Dear")
    verdict = await play("judged-by-model", hello, lend, submit, judge=reader)
    assert (verdict.status, verdict.outcome) == ("scored", True)
    assert reader.read == [
        "assistant: Dear Ben",
        "user: You want a book.",
        'assistant: lend({"title": "Tides", "reader": "Ben"})',
        "tool: lent",
    ]
    rude = await play("judged-by-model", lend, submit, judge=Reader("Dear"))
    assert (rude.status, rude.outcome) == ("scored", False)
    out = await play("judged-by-model", lend, submit, judge=Reader(""))
    assert out.status == "error:verifier"


class Undecided(Reader):
    """A judge that cannot tell, whatever it reads."""

    def decide(self, criterion: Criterion, exhibits: Sequence[Exhibit], **how: object) -> Judgement:
        return Judgement(Met.UNCLEAR, "", 0.0, "", (), (), self.name)


async def test_what_a_judge_cannot_decide_is_not_met() -> None:
    verdict = await play(
        "judged-by-model", *solution("judged-by-model"), judge=Undecided("anything")
    )
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("", "scored"),
        ("        raise OSError('the assertion is broken')\n", "error:verifier"),
    ],
)
async def test_a_conversation_that_cannot_be_repeated_is_the_agents_unless_the_task_is_broken(
    tmp_path: Path, fault: str, status: str
) -> None:
    copy = Path(shutil.copytree(LIBRARY, tmp_path / "copy"))
    code = copy / "src/tau2/domains/library/environment.py"
    text = code.read_text().replace('/ "library"', '/ "attic"')
    text = text.replace('_tool("find", ["title"])', '_tool("number", ["title"])')
    asserts = "    def run_env_assertion(self, wanted, raise_assertion_error):\n"
    code.write_text(text.replace(asserts, asserts + fault))
    for kind in ("src", "data"):
        folder = copy / kind / "tau2" / "domains"
        (folder / "library").rename(folder / "attic")
    write(copy, ["reader-pays"], "attic")
    env = Environment(find_task("tau2-attic/reader-pays-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        await episode.step(Action("number", {"title": "Tides"}))
        over = (await episode.step(SUBMIT)).verdict
        assert over is not None
        assert (over.status, over.score) == (status, 0.0)
        assert over.checkpoints[0].message.count("number answered")
    finally:
        await env.close()
        shutil.rmtree(catalogue.imported_dir() / "tasks" / "tau2-attic")


async def test_failing_calls_are_observations() -> None:
    env = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        refused = await episode.step(Action("lend", {"title": "Flint", "reader": "Ben"}))
        assert refused.observation.text == "error: invalid: Flint is lent"
        wrong = await episode.step(Action("lend", {"title": "Tides"}))
        assert wrong.observation.text.startswith("error: ")
        right = await episode.step(Action("lend", {"title": "Tides", "reader": "Ben"}))
        assert (right.observation.text, str(right.observation.effect)) == ("lent", "changed")
        looked = await episode.step(Action("find", {"title": "Tides"}))
        assert str(looked.observation.effect) == "no_change"
        assert looked.observation.data == {"result": {"title": "Tides", "reader": "Ben"}}
    finally:
        await env.close()


async def test_a_call_that_a_library_cannot_answer_is_an_observation(tmp_path: Path) -> None:
    copy = Path(shutil.copytree(LIBRARY, tmp_path / "copy"))
    code = copy / "src/tau2/domains/library/environment.py"
    text = code.read_text().replace("raise KeyError(f", "raise RuntimeError(f")
    code.write_text(text.replace('/ "library"', '/ "cellar"'))
    for kind in ("src", "data"):
        folder = copy / kind / "tau2" / "domains"
        (folder / "library").rename(folder / "cellar")
    write(copy, ["lend"], "cellar")
    env = Environment(find_task("tau2-cellar/lend-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        odd = await episode.step(Action("find", {"title": "Nothing"}))
        assert odd.observation.text == "error: internal: RuntimeError: no book Nothing"
        over = await episode.step(SUBMIT)
        assert over.verdict is not None
        assert (over.verdict.status, over.verdict.score) == ("scored", 0.0)
    finally:
        await env.close()
        shutil.rmtree(catalogue.imported_dir() / "tasks" / "tau2-cellar")


def allow(monkeypatch: pytest.MonkeyPatch, call_s: float) -> None:
    foreign = find_task("tau2-library/lend-v1").foreign
    assert foreign is not None and isinstance(foreign.rules, Tau2TaskRules)
    monkeypatch.setattr(foreign.rules.rules.domain.process, "call_s", call_s)


async def test_a_call_that_hangs_scores_nothing_and_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow(monkeypatch, 3.0)
    hung = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    other = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    try:
        stuck, free = await hung.start(0), await other.start(0)
        waiting = asyncio.create_task(stuck.step(Action("wait")))
        await asyncio.sleep(0.1)
        assert (await free.step(solution("lend")[1])).observation.text == "lent"
        assert not waiting.done()
        over = await waiting
        assert over.terminated and "'wait' did not end within 3 s" in over.observation.text
        assert over.observation.text.endswith("the episode ends here and is scored 0")
        assert over.verdict is not None
        assert (over.verdict.status, over.verdict.score) == ("scored", 0.0)
        (part,) = over.verdict.checkpoints
        assert (part.id, str(part.status)) == ("world", "fail")
        assert "'wait' did not end within 3 s" in part.message
    finally:
        await hung.close()
        await other.close()


async def test_an_episode_that_ends_while_a_call_hangs_is_judged_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    allow(monkeypatch, 2.0)
    env = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(episode.step(Action("wait")), 0.5)
        verdict = await episode.finish()
        assert (verdict.status, verdict.checkpoints[0].id) == ("scored", "world")
    finally:
        await env.close()


async def test_an_episode_is_closed_while_a_call_hangs() -> None:
    env = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    episode = await env.start(0)
    waiting = asyncio.create_task(episode.step(Action("wait")))
    await asyncio.sleep(0.1)
    await asyncio.wait_for(env.close(), 20)
    cut_off = await asyncio.wait_for(waiting, 20)
    assert cut_off.verdict is not None and cut_off.verdict.score == 0


async def test_episodes_have_worlds_of_their_own() -> None:
    env = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    lend = Action("lend", {"title": "Tides", "reader": "Ben"})
    try:
        for episode in (await env.start(0), await env.start(0)):
            assert (await episode.step(lend)).observation.text == "lent"
        assert len(env.live) == 2
    finally:
        await env.close()
    assert not env.live


async def test_the_customer_tells_their_case() -> None:
    env = Environment(find_task("tau2-library/lend-v1"), NoSandboxProvider())
    try:
        episode = await env.start(0)
        answer = await episode.step(Action("message_user", {"text": "How can I help?"}))
        assert answer.observation.text == "You want a book."
    finally:
        await env.close()


def test_the_folder_for_temporary_files_may_have_a_long_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place = tmp_path / ("n" * 120)
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    process = DomainProcess(open_checkout(LIBRARY), "library")
    try:
        process.world().close()
    finally:
        process.close()
