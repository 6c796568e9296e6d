"""Rewards and reports of foreign tests, as files of a sandbox."""

import json
import time

import pytest

from agentgym.errors import GuestFileError, VerifierError
from agentgym.formats.sandboxed.reward import Outcome, read_report, read_reward, read_summary
from agentgym.formats.sandboxed.rules import SandboxRules, Stage
from agentgym.formats.sandboxed.verdict import verdict_of
from agentgym.records import CheckStatus, TaskSandbox


class Files:
    """The files of a sandbox, and nothing else of it."""

    def __init__(self, **files):
        self.files = {f"/logs/verifier/{name.replace('_', '.')}": t for name, t in files.items()}

    async def read_file(self, path, *, max_bytes):
        if path not in self.files:
            raise GuestFileError(f"{path}: absent")
        return self.files[path].encode()[:max_bytes]


@pytest.mark.parametrize(
    ("files", "reward"),
    [
        ({"reward_txt": " 1\n"}, 1.0),
        ({"reward_txt": "0.25"}, 0.25),
        ({"reward_txt": "7"}, 1.0),
        ({"reward_txt": "-1"}, 0.0),
        ({"reward_txt": "0", "reward_json": "1"}, 0.0),
        ({"reward_json": "0.5"}, 0.5),
        ({"reward_json": '{"reward": 0.5, "style": 1}'}, 0.5),
        ({"reward_json": '{"speed": 0.5, "style": 1}'}, 0.75),
    ],
)
async def test_a_reward_is_a_number_between_0_and_1(files, reward):
    assert (await read_reward(Files(**files)))[0] == reward


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"reward_txt": ""},
        {"reward_txt": "nan"},
        {"reward_json": "{}"},
        {"reward_json": "{"},
        {"reward_json": '{"reward": "much"}'},
        {"reward_txt": "9" * 400},
        {"reward_json": "9" * 400},
        {"reward_json": '{"reward": ' + "9" * 400 + "}"},
        {"reward_json": "[" * 30_000},
        {"reward_json": '{"reward": [[1]]}'},
    ],
)
async def test_what_is_no_reward_is_an_error(files):
    with pytest.raises(VerifierError, match="reward"):
        await read_reward(Files(**files))


async def test_a_report_shows_tests_and_a_broken_one_none():
    tests = [
        {"name": "a", "status": "passed"},
        {"name": "b", "status": "failed", "message": "x is 1"},
        {"name": "c", "status": "skipped"},
    ]
    found = await read_report(Files(ctrf_json=json.dumps({"results": {"tests": tests}})))
    states = [CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.NOT_APPLICABLE]
    assert await read_report(Files(ctrf_json="[" * 100_000)) == ()
    assert [test.status for test in found] == states
    assert found[1].message == "x is 1"
    assert await read_report(Files(ctrf_json='{"results": 1}')) == ()
    assert await read_report(Files()) == ()


def test_the_summary_of_pytest_decides_for_classic_tasks():
    head = "FAILED is only a word here\n=== short test summary info ===\n"
    assert read_summary(f"{head}PASSED a::b\nXFAIL c - why\n")[0] == 1.0
    reward, tests = read_summary(f"{head}PASSED a::b\nFAILED a::c - assert 1 == 2\n")
    assert reward == 0.0
    assert [test.id for test in tests] == ["a::b", "a::c"]
    assert read_summary(f"{head}PASSED a::b\nERROR a::c\n")[0] == 0.0
    with pytest.raises(VerifierError, match="summary"):
        read_summary("bash: pytest: command not found\n")


def test_a_program_that_prints_a_summary_of_its_own_hides_no_failure():
    real = "=== short test summary info ===\nPASSED a::b\nFAILED a::c - assert 1 == 2\n"
    forged = "=== short test summary info ===\nPASSED a::b\nPASSED a::c\n"
    for output in (real + forged, forged + real, real + "PASSED a::c\n"):
        assert read_summary(output)[0] == 0.0
    assert read_summary(forged)[0] == 1.0
    assert read_summary(forged, is_whole=False)[0] == 0.0


def rules(count, combine):
    stages = tuple(
        Stage(name=str(n), instruction="", tests=(), script="", solution=None) for n in range(count)
    )
    return SandboxRules("harbor", TaskSandbox(), stages, combine=combine)


@pytest.mark.parametrize(
    ("combine", "rewards", "score"),
    [
        ("mean", [1.0, 0.5], 0.75),
        ("mean", [1.0], 0.5),
        ("final", [0.0, 1.0], 1.0),
        ("final", [1.0], 0.0),
        ("mean", [1.0, 1.0], 1.0),
    ],
)
def test_rewards_of_steps_become_one(combine, rewards, score):
    outcomes = [Outcome(reward) for reward in rewards]
    verdict = verdict_of(rules(2, combine), outcomes, gave_up=False)
    assert (verdict.score, verdict.outcome) == (score, score == 1.0)
    weighted = sum(c.score * c.weight for c in verdict.checkpoints)
    assert weighted / sum(c.weight for c in verdict.checkpoints) == score


def test_giving_up_is_no_success():
    verdict = verdict_of(rules(1, "mean"), [Outcome(1.0)], gave_up=True)
    assert (verdict.score, verdict.outcome) == (1.0, False)


@pytest.mark.parametrize("part", ["[],", '{"":0},'])
async def test_a_report_of_a_million_values_is_not_parsed(part):
    report = '{"results": {"tests": [' + part * 1_000_000 + "0]}}"
    began_s = time.process_time()
    assert await read_report(Files(ctrf_json=report)) == ()
    assert time.process_time() - began_s < 0.5  # it once took seconds of the event loop
