"""Contracts of the rubric: the first step that broke each."""

from dataclasses import replace

import pytest

from agentgym.errors import VerifierError
from agentgym.records import (
    CheckpointResult,
    CheckStatus,
    Contract,
    Decision,
    Effect,
    Phase,
    TokenUsage,
    Verdict,
)
from agentgym.testing.step_grader import step, trajectory
from agentgym.verify import contracts
from agentgym.verify.steps.contracts import KINDS, ContractGrader

PUSH = {"tool": "bash", "where": {"command": r"push.*--force"}}


OVER = Verdict("scored", False, 0.0)


def runs(*commands, effect=Effect.CHANGED):
    return [step(k, effect=effect, command=command) for k, command in enumerate(commands)]


async def broken(steps, *given, verdict=OVER):
    made = tuple(Contract(f"c{k}", kind, arguments) for k, (kind, arguments) in enumerate(given))
    episode = replace(trajectory(steps), contracts=made, verdict=verdict)
    grades = await ContractGrader().grade(episode)
    return {grade.step: (grade.label, grade.message) for grade in grades if grade.label != "kept"}


@pytest.mark.parametrize(
    ("kind", "arguments", "commands", "step", "label"),
    [
        ("never_calls", PUSH, ("ls", "git push --force", "git push --force"), 1, "broken"),
        ("calls", {"tool": "bash", "at_most": 2}, ("a", "b", "c", "d"), 2, "broken"),
        ("calls", {"tool": "ask"}, ("a", "b"), 1, "missing"),
        ("budget", {"steps": 2}, ("a", "b", "c", "d"), 2, "broken"),
        ("no_repeats", {"times": 2}, ("a", "b", "b", "b"), 2, "broken"),
        (
            "order",
            {"calls": [PUSH, {"tool": "bash", "where": {"command": "tag"}}]},
            ("ls", "git tag", "git push --force", "ls"),
            1,
            "missing",
        ),
        ("order", {"calls": [PUSH]}, ("ls", "ls"), 1, "missing"),
    ],
)
async def test_the_first_step_that_broke_it_is_told(kind, arguments, commands, step, label):
    found = await broken(runs(*commands, effect=Effect.NO_CHANGE), (kind, arguments))
    assert [(at, what) for at, (what, _) in found.items()] == [(step, label)]


async def test_a_budget_of_tokens_is_broken_by_the_step_that_exceeds_it():
    steps = [
        replace(one, decision=Decision(one.action, usage=TokenUsage(10, 5)))
        for one in runs("a", "b", "c")
    ]
    found = await broken(steps, ("budget", {"tokens": 30}))
    assert found == {2: ("broken", "c0: 45 of 30 tokens")}


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("never_calls", PUSH),
        ("calls", {"tool": "bash", "at_least": 2, "at_most": 2}),
        ("budget", {"steps": 2, "tokens": 0}),
        ("no_repeats", {"times": 2}),
        ("order", {"calls": [{"tool": "bash"}, {"tool": "bash"}]}),
    ],
)
async def test_what_is_kept_is_broken_nowhere(kind, arguments):
    assert await broken(runs("ls", "id"), (kind, arguments)) == {}


async def test_two_contracts_broken_by_one_step_share_its_grade():
    found = await broken(
        runs("ls", "git push --force"), ("never_calls", PUSH), ("calls", {"tool": "ask"})
    )
    ((at, (label, message)),) = found.items()
    assert (at, label) == (1, "broken")
    assert "c0: bash(" in message
    assert "c1: ask(): 0 calls, expected" in message


async def test_a_contract_that_did_not_apply_is_left_out():
    idle = CheckpointResult("c0", Phase.PROCESS, CheckStatus.NOT_APPLICABLE, 0.0, 1.0)
    verdict = Verdict("scored", False, 0.0, checkpoints=(idle,))
    assert await broken(runs("git push --force"), ("never_calls", PUSH), verdict=verdict) == {}


async def test_what_an_episode_that_is_not_over_lacks_may_still_come():
    given = ("calls", {"tool": "ask"}), ("order", {"calls": [{"tool": "ask"}]})
    assert await broken(runs("a"), *given, verdict=None) == {}
    found = await broken(runs("a"), *given, ("budget", {"steps": 0}), verdict=None)
    assert [label for label, _ in found.values()] == ["broken"]


async def test_a_rubric_without_contracts_gives_no_grades():
    assert await ContractGrader().grade(replace(trajectory(runs("a")), contracts=())) == []


@pytest.mark.parametrize(
    ("kind", "arguments", "says"),
    [
        ("never_call", PUSH, "c0: no contract 'never_call'; known: budget, calls"),
        ("budget", {}, "expected steps, tokens or both"),
        ("budget", {"stps": 1}, "c0: .*unexpected keyword argument 'stps'"),
        ("never_calls", {"tool": "bash", "where": {"command": "("}}, "where.command"),
    ],
)
async def test_a_contract_that_is_broken_itself_is_an_error(kind, arguments, says):
    with pytest.raises(VerifierError, match=says):
        await broken(runs("a"), (kind, arguments))


async def test_contracts_that_are_not_known_are_an_error():
    with pytest.raises(VerifierError, match="not known: no task"):
        await ContractGrader().grade(replace(trajectory(runs("a")), problem="no task named 'x'"))


def test_every_check_of_the_pack_is_a_contract(monkeypatch):
    from agentgym import catalogue
    from agentgym.verify.rubric.packs import load_pack

    assert set(load_pack(catalogue.find("verifiers", "trajectory")).checks) == set(KINDS)
    assert all(KINDS[name] is getattr(contracts, name) for name in KINDS)
