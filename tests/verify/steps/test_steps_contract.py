"""The step graders' contract suite, over all built-ins, and shown to catch offenders."""

import doctest
import json

import pytest

import agentgym.testing.step_grader as contract
from agentgym import plugins
from agentgym.protocols import StepGrader
from agentgym.records import CheckStatus, StepGrade
from agentgym.verify.steps.llm import LlmGrader
from agentgym.verify.steps.registry import GROUP, USUAL, create


class TestValidity(contract.StepGraderContract):
    spec = "validity"

    def make(self) -> StepGrader:
        return create(self.spec)


class TestEffect(TestValidity):
    spec = "effect"


class TestLoops(TestValidity):
    spec = "loops"


class TestLoopsOfFive(TestValidity):
    spec = "loops:5"


class TestProgress(TestValidity):
    spec = "progress"


class TestDiscountedProgress(TestValidity):
    spec = "progress:0.9"


class TestMilestones(TestValidity):
    spec = "milestones"


class TestDiagnosis(TestValidity):
    spec = "diagnosis"


class TestInteraction(TestValidity):
    spec = "interaction"


class TestContracts(TestValidity):
    spec = "contracts"


class TestLocalisation(TestValidity):
    spec = "localisation"


async def quotes_the_effect(system, user, schema):
    """A model whose answer depends on the question alone."""
    effect = json.loads(user)["step"]["effect"]
    return {"verdict": "bad" if effect == "error" else "good", "quote": effect, "reason": "so"}


class TestLlm(contract.StepGraderContract):
    def make(self) -> StepGrader:
        return LlmGrader("fake", ask=quotes_the_effect)


def test_every_built_in_is_under_the_contract():
    tested = {case.spec for case in (TestValidity, *TestValidity.__subclasses__())} | {"llm"}
    assert {spec.partition(":")[0] for spec in tested} == set(plugins.names(GROUP))
    assert set(USUAL) == set(plugins.names(GROUP)) - {
        *("diagnosis", "interaction", "llm", "milestones"),
    }


class Offender:
    name, version = "offender", "1"

    async def grade(self, trajectory):
        return [StepGrade(step.index, CheckStatus.PASS, "fine") for step in trajectory.steps]


class Counts(Offender):
    """Says something else every time."""

    count = 0

    async def grade(self, trajectory):
        Counts.count += 1
        return [StepGrade(s.index, CheckStatus.PASS, f"{Counts.count}") for s in trajectory.steps]


class Backwards(Offender):
    async def grade(self, trajectory):
        return list(reversed(await super().grade(trajectory)))


class Twice(Offender):
    async def grade(self, trajectory):
        return [grade for grade in await super().grade(trajectory) for _ in range(2)]


class Invents(Offender):
    """Grades a step that nobody took."""

    async def grade(self, trajectory):
        return [StepGrade(len(trajectory.steps), CheckStatus.FAIL, "next")]


class Tuples(Offender):
    async def grade(self, trajectory):
        return [(0, "pass")]


class Infinite(Offender):
    async def grade(self, trajectory):
        return [
            StepGrade(s.index, CheckStatus.PASS, "x", "", float("inf")) for s in trajectory.steps
        ]


class Utf8(Offender):
    """Takes all text for UTF-8."""

    async def grade(self, trajectory):
        for step in trajectory.steps:
            step.observation.text.encode()
        return []


class Quadratic(Offender):
    async def grade(self, trajectory):
        for step in trajectory.steps:
            for other in trajectory.steps[: step.index]:
                abs(other.index)
        return []


class Meddles(Offender):
    async def grade(self, trajectory):
        for step in trajectory.steps:
            step.action.arguments["seen"] = "yes"
        return []


class Nameless(Offender):
    version = ""


@pytest.mark.parametrize(
    ("offender", "broken"),
    [
        (Counts, "test_the_same_trajectory_gets_the_same_grades"),
        (Backwards, "test_any_trajectory_can_be_graded"),
        (Twice, "test_any_trajectory_can_be_graded"),
        (Invents, "test_an_empty_trajectory_has_no_grades"),
        (Tuples, "test_any_trajectory_can_be_graded"),
        (Infinite, "test_any_trajectory_can_be_graded"),
        (Utf8, "test_any_trajectory_can_be_graded"),
        (Quadratic, "test_the_work_grows_as_the_steps_do"),
        (Meddles, "test_the_trajectory_is_left_alone"),
        (Nameless, "test_it_says_who_it_is"),
    ],
)
def test_the_suite_catches(offender, broken):
    class Case(contract.StepGraderContract):
        def make(self):
            return offender()

    with pytest.raises(AssertionError):
        getattr(Case(), broken)()


def test_the_suite_has_nothing_against_a_grader_that_is_right():
    class Case(contract.StepGraderContract):
        def make(self):
            return Offender()

    for name in [name for name in dir(Case) if name.startswith("test_")]:
        getattr(Case(), name)()


def test_its_example_runs():
    assert doctest.testmod(contract).failed == 0
