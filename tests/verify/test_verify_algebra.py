"""The algebra of rubrics against a slow model, and what must not change a verdict."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rubric_model import FAIL, NA, PASS, model, results, rubrics, walk, without

from agentgym.records import CheckResult, CheckStatus, Phase, Verdict
from agentgym.verify.rubric.algebra import evaluate
from agentgym.verify.rubric.tree import Checkpoint, Kind, Rubric, When

# A rubric is large to draw: 20 examples for each law, six times as many with `--full`.
many = settings(max_examples=settings().max_examples * 2 // 5, deadline=None)


def numbers(verdict: Verdict) -> dict[str, object]:
    """Return everything but the nodes, rounded where the order of sums may show."""
    return {
        "status": verdict.status,
        "outcome": verdict.outcome,
        "score": pytest.approx(verdict.score),
        "process": None if verdict.process is None else pytest.approx(verdict.process),
        "safety": set(verdict.safety_violations),
        "uncontrollable": set(verdict.uncontrollable),
        "bonus": None if verdict.bonus is None else pytest.approx(verdict.bonus),
    }


def nodes(verdict: Verdict) -> dict[str, tuple[object, ...]]:
    return {
        r.id: (r.status, pytest.approx(r.score), r.controllable, r.step)
        for r in verdict.checkpoints
    }


@settings(deadline=None)
@given(st.data())
def test_evaluate_agrees_with_the_slow_model(data: st.DataObject) -> None:
    rubric = data.draw(rubrics())
    found, judged = data.draw(results(rubric)), data.draw(st.booleans())
    verdict, slow = evaluate(rubric, found, judged=judged), model(rubric, found, judged)
    assert verdict.status == slow.status
    for result in verdict.checkpoints:
        known = slow.known[result.id]
        assert (result.status, result.controllable) == (known.status, known.mine), result
        assert result.step == known.step, result
        if result.status in (PASS, FAIL):
            assert result.score == pytest.approx(float(known.credit)), result
    if slow.status != "scored":
        assert not verdict.outcome
        return
    exact = {"score": slow.score, "process": slow.process, "bonus": slow.bonus}
    expected = {k: None if v is None else pytest.approx(float(v)) for k, v in exact.items()}
    assert numbers(verdict) == {
        "status": slow.status,
        "outcome": slow.outcome,
        "safety": slow.safety,
        "uncontrollable": slow.uncontrollable,
        **expected,
    }


@many
@given(st.data())
def test_milestones_in_order_agree_with_the_slow_model(data: st.DataObject) -> None:
    """Sequences of milestones and of groups of them, nearly all of which held at some step."""

    def leaf(name: str) -> Checkpoint:
        return Checkpoint(name, when=When.EVERY_STEP)

    def part(name: str) -> Checkpoint:
        kind = data.draw(st.sampled_from(list(Kind)))
        children = tuple(leaf(f"{name}{i}") for i in range(2)) if kind is not Kind.LEAF else ()
        return replace(leaf(name), kind=kind, children=children) if children else leaf(name)

    rubric = Rubric((Checkpoint("s", kind=Kind.SEQUENCE, children=tuple(map(part, "abc"))),))
    steps = st.sampled_from([None, *range(-1, 4), *range(-1, 4)])
    found = {}
    for node in rubric.leaves():
        step = data.draw(steps)
        found[node.id] = CheckResult(FAIL if step is None else PASS, step=step)
    verdict, slow = evaluate(rubric, found), model(rubric, found)
    assert verdict.score == pytest.approx(float(slow.score))
    seen = {r.id: (r.status, r.step) for r in verdict.checkpoints}
    assert seen == {name: (known.status, known.step) for name, known in slow.known.items()}


# --- what must not change a verdict -----------------------------------------------------------


@many
@given(st.data(), st.sampled_from([0.001, 0.3, 7.0, 1e5]))
def test_scaling_all_weights_changes_nothing(data: st.DataObject, factor: float) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))

    def scaled(node: Checkpoint) -> Checkpoint:
        children = tuple(map(scaled, node.children))
        return replace(node, weight=node.weight * factor, children=children)

    other = replace(rubric, checkpoints=tuple(map(scaled, rubric.checkpoints)))
    assert numbers(evaluate(other, found)) == numbers(evaluate(rubric, found))
    assert nodes(evaluate(other, found)) == nodes(evaluate(rubric, found))


@many
@given(st.data())
def test_bonuses_change_nothing_but_the_bonus(data: st.DataObject) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))
    plain = replace(rubric, checkpoints=tuple(c for c in rubric.checkpoints if not c.bonus))
    seen, expected = evaluate(rubric, found), evaluate(plain, found)
    assert replace(seen, bonus=None, checkpoints=()) == replace(expected, checkpoints=())
    assert {r.id: r for r in expected.checkpoints}.items() <= {
        r.id: r for r in seen.checkpoints
    }.items()


@many
@given(st.data())
def test_an_unmet_condition_is_as_if_the_checkpoint_were_not_there(data: st.DataObject) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric, errors=False))
    gone = data.draw(st.sampled_from([node.id for node in walk(rubric.checkpoints)]))
    found["unmet"], found["met"] = CheckResult(FAIL), CheckResult(PASS)
    how = data.draw(st.sampled_from([{"only_if": ("unmet",)}, {"unless": ("met",)}]))

    def ruled_out(node: Checkpoint) -> Checkpoint:
        changed = replace(node, **how) if node.id == gone else node  # type: ignore[arg-type]
        return replace(changed, children=tuple(map(ruled_out, node.children)))

    conditional = replace(rubric, checkpoints=tuple(map(ruled_out, rubric.checkpoints)))
    below = {n.id for top in walk(rubric.checkpoints) if top.id == gone for n in walk((top,))}
    removed = replace(rubric, checkpoints=without(rubric.checkpoints, below))
    seen, expected = evaluate(conditional, found), evaluate(removed, found)
    assert numbers(seen) == numbers(expected)
    left = nodes(expected)
    assert {i: n for i, n in nodes(seen).items() if i in left} == left
    assert all(r.status is NA for r in seen.checkpoints if r.id not in left)


@many
@given(st.data())
def test_without_a_judge_what_is_only_for_one_was_never_written(data: st.DataObject) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))
    top = [node for node in walk(rubric.checkpoints) if node.only_if_judged]
    below = {n.id for node in top for n in walk((node,))}
    removed = replace(rubric, checkpoints=without(rubric.checkpoints, below))
    # Nothing of it, and no condition that only it names, is looked at.
    kept = list(walk(removed.checkpoints))
    asked = {c for n in kept for c in (*n.only_if, *n.unless, *n.uncontrollable_if)}
    asked |= {node.id for node in kept} | {leaf.id for leaf in rubric.milestones()}
    seen = evaluate(rubric, {i: r for i, r in found.items() if i in asked}, judged=False)
    expected = evaluate(removed, found, judged=False)
    assert numbers(seen) == numbers(expected)
    left = nodes(expected)
    assert {i: n for i, n in nodes(seen).items() if i in left} == left
    assert all(r.status is NA for r in seen.checkpoints if r.id not in left)
    assert numbers(evaluate(removed, found, judged=True)) == numbers(expected)


@many
@given(st.data())
def test_with_a_judge_the_mark_changes_nothing(data: st.DataObject) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))

    def plain(node: Checkpoint) -> Checkpoint:
        children = tuple(map(plain, node.children))
        return replace(node, only_if_judged=False, children=children)

    unmarked = replace(rubric, checkpoints=tuple(map(plain, rubric.checkpoints)))
    assert evaluate(rubric, found) == evaluate(unmarked, found)


@many
@given(st.data())
def test_what_was_built_on_a_failure_counts_as_if_it_were_not_there(data: st.DataObject) -> None:
    rubric = data.draw(rubrics(bonus=False))
    found = data.draw(results(rubric, errors=False))
    verdict = evaluate(rubric, found)
    built = {r.id for r in verdict.checkpoints if r.message.startswith("requires ")}
    left = without(rubric.checkpoints, built)
    # Cutting out of `requires` frees nobody: whoever requires one of them was built on it too.
    assert not any(set(n.requires) & built for n in walk(left))
    assert numbers(evaluate(replace(rubric, checkpoints=left), found)) == numbers(verdict)


def test_a_group_in_which_nothing_applies_is_not_said_to_be_out_of_reach() -> None:
    first, second = Checkpoint("first"), Checkpoint("second", requires=("first",))
    halves = Checkpoint("halves", kind=Kind.WEIGHTED, children=(first, Checkpoint("third")))
    built = Checkpoint("built", kind=Kind.ALL, children=(second,))
    rubric = Rubric((Checkpoint("in order", kind=Kind.SEQUENCE, children=(halves, built)),))
    found = {"first": CheckResult(FAIL), "second": CheckResult(PASS), "third": CheckResult(PASS)}
    verdict = evaluate(rubric, found)
    assert {r.id: r.status for r in verdict.checkpoints}["built"] is NA
    # The failure is penalised once.
    assert verdict.score == pytest.approx(0.5)


@many
@given(st.lists(st.tuples(st.floats(0.1, 10), st.booleans()), min_size=1, max_size=8))
def test_a_failed_prerequisite_costs_its_own_weight_and_no_more(
    others: list[tuple[float, bool]],
) -> None:
    """Each other checkpoint passes; some are built on the one that fails."""
    first = Checkpoint("first", weight=2.0)
    rest = [
        Checkpoint(f"n{i}", weight=weight, requires=("first",) * built)
        for i, (weight, built) in enumerate(others)
    ]
    found = {node.id: CheckResult(PASS) for node in rest} | {"first": CheckResult(FAIL)}
    verdict = evaluate(Rubric((first, *rest)), found)
    applicable = [r for r in verdict.checkpoints if r.status is not NA]
    assert sum(r.weight * (1 - r.score) for r in applicable) == pytest.approx(2.0)
    punished = {node.id: CheckResult(FAIL if node.requires else PASS) for node in rest}
    loose = [replace(node, requires=()) for node in rest]
    twice = evaluate(Rubric((first, *loose)), punished | {"first": CheckResult(FAIL)})
    assert verdict.score >= twice.score - 1e-9


@many
@given(st.data(), st.integers(0, 2**32))
def test_the_order_of_siblings_counts_only_in_a_sequence(data: st.DataObject, seed: int) -> None:
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))
    chance = random.Random(seed)

    def shuffled(siblings: tuple[Checkpoint, ...], kind: Kind) -> tuple[Checkpoint, ...]:
        row = [replace(n, children=shuffled(n.children, n.kind)) for n in siblings]
        return tuple(row if kind is Kind.SEQUENCE else chance.sample(row, len(row)))

    other = replace(rubric, checkpoints=shuffled(rubric.checkpoints, Kind.WEIGHTED))
    assert numbers(evaluate(other, found)) == numbers(evaluate(rubric, found))
    assert nodes(evaluate(other, found)) == nodes(evaluate(rubric, found))


@many
@given(st.data())
def test_more_success_never_scores_less_where_nothing_depends_on_it(data: st.DataObject) -> None:
    """Without conditions, requirements, steps and blame a pass in place of a fail never hurts."""
    rubric = data.draw(rubrics(bonus=False))

    def bare(node: Checkpoint) -> Checkpoint:
        plain = Checkpoint(node.id, kind=node.kind, weight=node.weight, phase=node.phase)
        return replace(plain, gate=node.gate, children=tuple(map(bare, node.children)))

    rubric = replace(rubric, checkpoints=tuple(map(bare, rubric.checkpoints)))
    found = {
        leaf.id: CheckResult(data.draw(st.sampled_from([PASS, FAIL]))) for leaf in rubric.leaves()
    }
    failed = [name for name, result in found.items() if result.status is FAIL]
    assume(failed)
    better = found | {data.draw(st.sampled_from(failed)): CheckResult(PASS)}
    low, high = evaluate(rubric, found), evaluate(rubric, better)
    assert high.score >= low.score - 1e-9
    assert high.outcome or not low.outcome


@many
@given(st.data())
def test_nothing_is_looked_up_that_does_not_decide(data: st.DataObject) -> None:
    """What is not applicable or not reached has no result to look up, unless it was latched."""
    rubric = data.draw(rubrics())
    found = data.draw(results(rubric))
    verdict = evaluate(rubric, found)
    leaves = {leaf.id for leaf in rubric.leaves()} - {leaf.id for leaf in rubric.milestones()}
    why = ("requires ", "only if ", "not if ", "not reached")
    unasked = {r.id for r in verdict.checkpoints if r.id in leaves and r.message.startswith(why)}
    asked = {name: result for name, result in found.items() if name not in unasked}
    assert evaluate(rubric, asked) == verdict


# --- the newer laws, one example each ---------------------------------------------------------


def test_bonuses_are_looked_up_last() -> None:
    order: list[str] = []

    class Noting(dict[str, CheckResult]):
        def __missing__(self, name: str) -> CheckResult:
            order.append(name)
            return CheckResult(PASS)

    extra = Checkpoint("extra", bonus=True)
    evaluate(Rubric((extra, Checkpoint("a"), Checkpoint("b"))), Noting())
    assert order == ["a", "b", "extra"]


def test_a_bonus_in_error_leaves_the_episode_scored_and_the_bonus_unknown() -> None:
    rubric = Rubric((Checkpoint("a"), Checkpoint("x", bonus=True), Checkpoint("y", bonus=True)))
    found = {name: CheckResult(PASS) for name in "ay"} | {"x": CheckResult(CheckStatus.ERROR)}
    verdict = evaluate(rubric, found)
    assert (verdict.status, verdict.score, verdict.bonus) == ("scored", 1.0, None)


def test_bonuses_are_credited_apart() -> None:
    rubric = Rubric(
        (Checkpoint("a"), Checkpoint("x", bonus=True, weight=3.0), Checkpoint("y", bonus=True))
    )
    found = {"a": CheckResult(FAIL), "x": CheckResult(PASS), "y": CheckResult(FAIL)}
    verdict = evaluate(rubric, found)
    assert (verdict.score, verdict.bonus) == (0.0, 0.75)


def milestones(*steps: int | None) -> tuple[Rubric, dict[str, CheckResult]]:
    """Return a sequence of milestones that first held at these steps, None: never."""
    parts = tuple(Checkpoint(f"m{i}", when=When.EVERY_STEP) for i in range(len(steps)))
    found = {
        f"m{i}": CheckResult(FAIL if step is None else PASS, step=step)
        for i, step in enumerate(steps)
    }
    return Rubric((Checkpoint("g", kind=Kind.SEQUENCE, children=parts),)), found


@pytest.mark.parametrize(
    ("steps", "score", "held"),
    [
        ((0, 2, 5), 1.0, 5),
        ((1, 1, 1), 1.0, 1),  # one action may bring about several
        ((2, 0, 5), 1 / 3, None),  # m1 was too early, m2 is not reached
        ((0, 3, -1), 2 / 3, None),
        ((None, 0, 1), 0.0, None),
    ],
)
def test_milestones_of_a_sequence_hold_in_its_order(
    steps: tuple[int | None, ...], score: float, held: int | None
) -> None:
    verdict = evaluate(*milestones(*steps))
    assert verdict.score == pytest.approx(score)
    assert verdict.checkpoints[-1].step == held


def test_a_milestone_that_came_too_early_says_what_it_came_before() -> None:
    verdict = evaluate(*milestones(4, 2))
    assert verdict.checkpoints[1].message == "too early: held at step 2, 'm0' only at step 4"
    assert verdict.checkpoints[1].step == 2


def test_a_failure_out_of_the_agents_hands_leaves_the_process_and_stays_in_the_outcome() -> None:
    excused = {"uncontrollable_if": ("down",)}
    rubric = Rubric(
        (
            Checkpoint("a", **excused),  # type: ignore[arg-type]
            Checkpoint("b"),
            Checkpoint("p", phase=Phase.PROCESS, gate=True, **excused),  # type: ignore[arg-type]
            Checkpoint("q", phase=Phase.PROCESS),
        )
    )
    found = {"a": FAIL, "b": PASS, "p": FAIL, "q": PASS, "down": PASS}
    verdict = evaluate(rubric, {name: CheckResult(status) for name, status in found.items()})
    assert (verdict.score, verdict.process) == (0.5, 1.0)
    assert verdict.uncontrollable == ("a", "p")
    found["down"] = FAIL
    verdict = evaluate(rubric, {name: CheckResult(status) for name, status in found.items()})
    assert (verdict.score, verdict.process, verdict.uncontrollable) == (0.0, 0.0, ())


def test_a_condition_that_rules_out_says_so_with_what_it_saw() -> None:
    rubric = Rubric((Checkpoint("a"), Checkpoint("b", only_if=("c0",))))
    found = {"a": CheckResult(PASS), "c0": CheckResult(FAIL, "no lock", channels=("state",))}
    result = evaluate(rubric, found).checkpoints[1]
    assert (result.message, result.channels) == ("only if 'c0': no lock", ("state",))


def test_the_model_and_the_rubrics_reach_every_law() -> None:
    """The drawn rubrics are worth something: each kind of result turns up among them."""
    seen: set[str] = set()

    @settings(max_examples=200, deadline=None, database=None, derandomize=True)
    @given(st.data())
    def look(data: st.DataObject) -> None:
        rubric = data.draw(rubrics())
        verdict = evaluate(rubric, data.draw(results(rubric)))
        seen.update(r.message.partition(" ")[0] for r in verdict.checkpoints if r.message)
        seen.update(["bonus"] * (verdict.bonus is not None))
        seen.update(["excused"] * bool(verdict.uncontrollable))

    look()
    assert {"only", "not", "requires", "nothing", "condition", "bonus", "excused"} <= seen
