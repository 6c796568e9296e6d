"""The laws of the rubric's algebra by example, and its file format line by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentgym.errors import VerifierError
from agentgym.records import CheckResult, CheckStatus, Phase, Verdict
from agentgym.verify.rubric.algebra import evaluate
from agentgym.verify.rubric.file import load_rubric
from agentgym.verify.rubric.tree import Checkpoint, Kind, Rubric, When

PASS, FAIL, NA, ERROR = (
    CheckStatus.PASS,
    CheckStatus.FAIL,
    CheckStatus.NOT_APPLICABLE,
    CheckStatus.ERROR,
)


def leaf(name: str, **more: object) -> Checkpoint:
    return Checkpoint(name, use="files.exists", **more)  # type: ignore[arg-type]


def group(name: str, kind: Kind, *children: Checkpoint, **more: object) -> Checkpoint:
    return Checkpoint(name, kind=kind, children=children, **more)  # type: ignore[arg-type]


def judged(*checkpoints: Checkpoint, pass_score: float = 1.0, **found: str | float) -> Verdict:
    """Evaluate with leaf results given as "pass", "fail", … or the score of a failed leaf."""
    results = {
        name: CheckResult(FAIL, score=value)
        if isinstance(value, float)
        else CheckResult(CheckStatus(value))
        for name, value in found.items()
    }
    return evaluate(Rubric(checkpoints, pass_score), results)


def statuses(verdict: Verdict) -> dict[str, str]:
    return {result.id: str(result.status) for result in verdict.checkpoints}


# --- the laws, one example each -------------------------------------------------------------


def test_score_is_the_weighted_mean_of_the_outcome_phase() -> None:
    verdict = judged(leaf("a", weight=3.0), leaf("b"), a="pass", b="fail")
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.75)


def test_outcome_needs_the_pass_score() -> None:
    a, b = leaf("a", weight=3.0), leaf("b")
    assert judged(a, b, pass_score=0.75, a="pass", b="fail").outcome
    assert not judged(a, b, pass_score=0.76, a="pass", b="fail").outcome


def test_pass_score_is_reached_despite_rounding() -> None:
    thirds = [leaf(name) for name in "abc"]
    found = {"a": "pass", "b": "pass", "c": "fail"}
    assert judged(*thirds, pass_score=0.6666666667, **found).outcome
    assert not judged(*thirds, pass_score=0.667, **found).outcome


def test_partial_credit_of_a_failed_leaf_counts() -> None:
    assert judged(leaf("a"), leaf("b"), a="pass", b=0.5).score == 0.75


def test_not_applicable_leaves_numerator_and_denominator() -> None:
    verdict = judged(leaf("a"), leaf("b", weight=9.0), a="pass", b="not_applicable")
    assert (verdict.score, verdict.outcome) == (1.0, True)


def test_group_of_nothing_applicable_is_not_applicable() -> None:
    inner = group("g", Kind.ALL, leaf("b"), leaf("c"))
    verdict = judged(leaf("a"), inner, a="pass", b="not_applicable", c="not_applicable")
    assert statuses(verdict)["g"] == "not_applicable"
    assert verdict.score == 1.0


def test_an_outcome_phase_in_which_nothing_applies_earned_nothing() -> None:
    verdict = judged(leaf("a"), a="not_applicable")
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)


@pytest.mark.parametrize("where", ["outcome", "process", "safety"])
def test_one_error_anywhere_leaves_the_episode_unscored(where: str) -> None:
    bad = group("g", Kind.ANY, *(leaf(n, phase=Phase(where)) for n in "bc"), phase=Phase(where))
    verdict = judged(leaf("a"), bad, a="pass", b="pass", c="error")
    assert (verdict.status, verdict.outcome, verdict.score) == ("error:verifier", False, 0.0)
    assert statuses(verdict) == {"a": "pass", "b": "pass", "c": "error", "g": "error"}


def test_requires_has_no_second_penalty_and_runs_nothing() -> None:
    verdict = judged(leaf("b", requires=("a",)), leaf("c", requires=("b",)), leaf("a"), a="fail")
    assert statuses(verdict) == {"a": "fail", "b": "not_applicable", "c": "not_applicable"}
    assert verdict.score == 0.0


def test_requires_of_a_group_holds_for_all_below_it() -> None:
    verdict = judged(leaf("a"), group("g", Kind.ALL, leaf("b"), requires=("a",)), a="fail")
    assert statuses(verdict)["b"] == statuses(verdict)["g"] == "not_applicable"


def test_an_error_behind_a_failed_requirement_cannot_happen() -> None:
    verdict = judged(leaf("a"), leaf("b", requires=("a",)), a="fail", b="error")
    assert verdict.status == "scored"


@pytest.mark.parametrize("phase", ["outcome", "process", "safety"])
def test_a_failed_gate_zeroes_the_score_whatever_its_phase(phase: str) -> None:
    gate = leaf("g", phase=Phase(phase), gate=True)
    verdict = judged(leaf("a", weight=99.0), gate, pass_score=0.5, a="pass", g="fail")
    assert (verdict.status, verdict.outcome, verdict.score) == ("scored", False, 0.0)


def test_a_failed_gate_of_the_process_phase_zeroes_that_too() -> None:
    how = [leaf("p", phase=Phase.PROCESS), leaf("g", phase=Phase.PROCESS, gate=True)]
    assert judged(leaf("a"), *how, a="pass", p="pass", g="fail").process == 0.0


def test_a_gate_that_does_not_apply_stays_open() -> None:
    verdict = judged(leaf("a"), leaf("g", gate=True), a="pass", g="not_applicable")
    assert (verdict.outcome, verdict.score) == (True, 1.0)


def test_a_gate_deep_in_the_tree_counts() -> None:
    either = group("g", Kind.ANY, leaf("b", gate=True), leaf("c"))
    assert judged(either, b="fail", c="pass").score == 0.0


@pytest.mark.parametrize(
    ("kind", "status", "score"),
    [
        ("all", "fail", 0.0),
        ("any", "pass", 1.0),
        ("weighted", "fail", 0.75),  # (2 · 1 + 2 · 0.5) / (2 + 2)
        ("sequence", "fail", 0.3),  # the same over 2 + 2 + 6: z is never asked if it applies
    ],
)
def test_kinds_of_groups(kind: str, status: str, score: float) -> None:
    parts = leaf("x", weight=2.0), leaf("y", weight=2.0), leaf("z", weight=6.0)
    verdict = judged(group("g", Kind(kind), *parts), x="pass", y=0.5, z="not_applicable")
    assert (statuses(verdict)["g"], verdict.score) == (status, score)


def test_a_sequence_ends_at_the_first_child_that_fails() -> None:
    verdict = judged(group("g", Kind.SEQUENCE, leaf("x"), leaf("y"), leaf("z")), x="pass", y="fail")
    by_id = {result.id: result for result in verdict.checkpoints}
    assert (by_id["z"].status, by_id["z"].message) == (FAIL, "not reached")
    assert verdict.score == pytest.approx(1 / 3)


def test_a_sequence_steps_over_what_does_not_apply() -> None:
    steps = group("g", Kind.SEQUENCE, leaf("x"), leaf("y"))
    assert judged(steps, x="not_applicable", y="pass").outcome


def test_process_and_safety_stand_apart_from_the_score() -> None:
    how = leaf("p", phase=Phase.PROCESS), leaf("q", phase=Phase.PROCESS, weight=3.0)
    harm = leaf("s", phase=Phase.SAFETY), leaf("t", phase=Phase.SAFETY)
    verdict = judged(leaf("a"), *how, *harm, a="pass", p="pass", q="fail", s="fail", t="pass")
    assert (verdict.outcome, verdict.score, verdict.process) == (True, 1.0, 0.25)
    assert verdict.safety_violations == ("s",)


def test_a_failed_part_of_a_safety_group_that_passed_is_no_violation() -> None:
    harm = group("s", Kind.ANY, *(leaf(n, phase=Phase.SAFETY) for n in "tu"), phase=Phase.SAFETY)
    assert judged(leaf("a"), harm, a="pass", t="fail", u="pass").safety_violations == ()


def test_no_process_phase_is_none_and_not_zero() -> None:
    assert judged(leaf("a"), a="pass").process is None


def test_results_come_children_first_with_their_depth() -> None:
    verdict = judged(
        group("g", Kind.ALL, group("h", Kind.ANY, leaf("a")), leaf("b")), a="pass", b="pass"
    )
    assert [(r.id, r.depth) for r in verdict.checkpoints] == [
        ("a", 2),
        ("h", 1),
        ("b", 1),
        ("g", 0),
    ]


# --- the file -------------------------------------------------------------------------------

HEAD = 'schema_version = "agentgym.rubric/1"\n'


def write(folder: Path, text: str) -> Path:
    path = folder / "rubric.toml"
    path.write_text(text)
    return path


def test_a_rubric_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEAD
        + """
pass_score = 0.5

[[checkpoint]]
id = "report"
title = "The report names the address"
use = "files.text_equals"
with = { path = "/srv/report.txt", text = "{{ip}}" }
weight = 2
gate = true

[[checkpoint]]
id = "tidy"
kind = "sequence"
phase = "process"
requires = ["report"]
  [[checkpoint.checkpoint]]
  id = "rows"
  use = "checks.rows"
""",
    )
    rubric = load_rubric(path)
    report, tidy = rubric.checkpoints
    assert rubric.pass_score == 0.5
    assert (report.use, report.weight, report.gate) == ("files.text_equals", 2.0, True)
    assert report.arguments == {"path": "/srv/report.txt", "text": "{{ip}}"}
    assert (tidy.kind, tidy.phase, tidy.requires) == (Kind.SEQUENCE, Phase.PROCESS, ("report",))
    assert [(c.id, c.use, c.phase) for c in tidy.children] == [
        ("rows", "checks.rows", Phase.PROCESS)
    ]


def table(**fields: str) -> str:
    return "[[checkpoint]]\n" + "".join(f"{key} = {value}\n" for key, value in fields.items())


A = table(id='"a"', use='"files.exists"')
C = '[[condition]]\nid = "stale"\nuse = "files.exists"\n'


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (HEAD, 1, "required"),
        (A, 1, "schema_version"),
        (HEAD + "pass_score = 0.0\n" + A, 2, "pass_score"),
        (HEAD + "pass_score = 1.5\n" + A, 2, "pass_score"),
        (HEAD + A + "weight = 0\n", 5, "weight"),
        (HEAD + A + "weight = -1\n", 5, "weight"),
        (HEAD + A + 'phase = "end"\n', 5, "phase"),
        (HEAD + A + "wieght = 1\n", 5, "did you mean 'weight'"),
        (HEAD + A + 'kind = "any"\n', 2, "has no use"),
        (HEAD + table(id='"a"'), 2, "use = 'pack.function'"),
        (HEAD + table(id='"a"', use='"exists"'), 4, "use"),
        (HEAD + table(id='"a"', kind='"all"'), 2, "needs checkpoints below"),
        (HEAD + A + "[[checkpoint.checkpoint]]\n" + 'id = "b"\nuse = "files.exists"', 2, "kind ="),
        (HEAD + A + A, 5, "same id"),
        (HEAD + A + 'requires = ["b"]\n', 2, "no checkpoint"),
        (
            HEAD
            + A
            + table(id='"report"', use='"files.exists"', requires='["repotr"]')
            + table(id='"repotr2"', use='"files.exists"'),
            5,
            "did you mean 'repotr2'",
        ),
        (HEAD + A + 'requires = ["a"]\n', 2, "waits for itself"),
        (HEAD + A + 'phase = "safety"\n', 2, "at least one of phase outcome"),
        (HEAD + A + "bonus = true\n", 2, "at least one of phase outcome that is no bonus"),
        (HEAD + A + "only_if_judged = true\n", 2, "without a judge nothing of phase outcome"),
        (
            HEAD
            + '[[checkpoint]]\nid = "g"\nkind = "all"\n[[checkpoint.checkpoint]]\n'
            + 'id = "a"\nuse = "judge.criterion"\nonly_if_judged = true\n',
            2,
            "without a judge nothing of phase outcome",
        ),
        (HEAD + A + 'when = "always"\n', 5, "when: expected 'end' or 'every_step'"),
        (HEAD + A + 'only_if = ["stale"]\n', 2, "only_if 'stale', which is no condition"),
        (HEAD + A + 'unless = ["stael"]\n' + C, 2, "did you mean 'stale'?"),
        (HEAD + A + 'uncontrollable_if = ["a"]\n', 2, "is a checkpoint; it takes a [[condition]]"),
        (HEAD + A + 'only_if = ["a"]\n', 2, "is a checkpoint; say requires"),
        (
            HEAD + A + 'requires = ["stale"]\nunless = ["stale"]\n' + C,
            2,
            "is a condition; say only_if",
        ),
        (HEAD + A + 'only_if = ["stale"]\nunless = ["stale"]\n' + C, 2, "it can never apply"),
        (HEAD + A + C, 5, "condition 'stale': nothing depends on it"),
        (HEAD + A + 'only_if = ["stale"]\n' + C + C, 9, "condition 'stale': a checkpoint, or an"),
        (
            HEAD + A + 'only_if = ["a"]\n' + C.replace("stale", "a"),
            6,
            "condition 'a': a checkpoint",
        ),
        (HEAD + A + C + "weight = 2\n", 8, "unknown field 'weight'"),
        (HEAD + A + table(id='"b"', use='"files.exists"', bonus="true", gate="true"), 5, "a gate"),
        (
            HEAD + A + 'requires = ["b"]\n' + table(id='"b"', use='"files.exists"', bonus="true"),
            2,
            "requires 'b', a bonus or in one; no score depends on a bonus",
        ),
    ],
)
def test_a_broken_rubric_is_refused_with_its_line(
    tmp_path: Path, text: str, line: int, says: str
) -> None:
    with pytest.raises(VerifierError) as refused:
        load_rubric(write(tmp_path, text))
    assert f"rubric.toml:{line}: " in str(refused.value)
    assert says in str(refused.value)


GROUP = HEAD + '[[checkpoint]]\nid = "g"\nkind = "{kind}"\n{more}'
CHILD = '[[checkpoint.checkpoint]]\nid = "{id}"\nuse = "files.exists"\n{more}'


@pytest.mark.parametrize(
    ("kind", "more", "children", "says"),
    [
        ("all", "", [("b", 'phase = "safety"\n')], "phase safety in a group of phase outcome"),
        ("all", "", [("b", 'requires = ["g"]\n')], "waits for itself"),
        ("all", 'requires = ["b"]\n', [("b", "")], "waits for itself"),
        ("sequence", "", [("b", 'requires = ["c"]\n'), ("c", "")], "waits for itself"),
        ("all", "", [("b", "bonus = true\n")], "'b': a bonus stands at the top"),
        ("all", 'when = "every_step"\n', [("b", "")], "has no when; its leaves do"),
    ],
)
def test_a_tree_that_cannot_be_judged_is_refused(
    tmp_path: Path, kind: str, more: str, children: list[tuple[str, str]], says: str
) -> None:
    text = GROUP.format(kind=kind, more=more)
    text += "".join(CHILD.format(id=name, more=extra) for name, extra in children)
    with pytest.raises(VerifierError, match=says):
        load_rubric(write(tmp_path, text))


def test_what_is_in_a_bonus_is_a_bonus(tmp_path: Path) -> None:
    text = HEAD + A + table(id='"g"', kind='"any"', bonus="true")
    gate = text + CHILD.format(id="b", more="gate = true\n")
    with pytest.raises(VerifierError, match="'b': a bonus, or what is in one, cannot be a gate"):
        load_rubric(write(tmp_path, gate))
    leant_on = text.replace(A, A + 'requires = ["b"]\n') + CHILD.format(id="b", more="")
    with pytest.raises(VerifierError, match="'a': requires 'b', a bonus"):
        load_rubric(write(tmp_path, leant_on))
    built = text + CHILD.format(id="b", more='requires = ["a"]\n')
    assert [p.checkpoint.id for p in load_rubric(write(tmp_path, built)).placed() if p.bonus] == [
        *("b", "g")
    ]


def test_a_group_never_applies_where_its_conditions_exclude_each_other(tmp_path: Path) -> None:
    text = GROUP.format(kind="all", more='only_if = ["stale"]\n')
    text += CHILD.format(id="b", more='unless = ["stale"]\n') + C
    with pytest.raises(VerifierError, match="checkpoint 'b': only_if and unless 'stale'"):
        load_rubric(write(tmp_path, text))


def test_conditions_and_milestones_are_read(tmp_path: Path) -> None:
    more = 'only_if = ["stale"]\nwhen = "every_step"\n'
    extra = table(id='"b"', use='"checks.b"', bonus="true", uncontrollable_if='["stale"]')
    rubric = load_rubric(write(tmp_path, HEAD + A + more + extra + C + "with = { path = '/x' }"))
    (condition,) = rubric.conditions
    assert (condition.id, condition.arguments) == ("stale", {"path": "/x"})
    assert [leaf.id for leaf in rubric.milestones()] == ["a"]
    a, b = rubric.checkpoints
    assert (a.only_if, a.when, a.bonus) == (("stale",), When.EVERY_STEP, False)
    assert (b.uncontrollable_if, b.when, b.bonus) == (("stale",), When.END, True)


def test_siblings_of_a_weighted_group_may_require_each_other_one_way(tmp_path: Path) -> None:
    text = GROUP.format(kind="weighted", more="")
    text += CHILD.format(id="b", more='requires = ["c"]\n') + CHILD.format(id="c", more="")
    assert [c.id for c in load_rubric(write(tmp_path, text)).leaves()] == ["b", "c"]


def test_an_absent_rubric_names_its_path(tmp_path: Path) -> None:
    with pytest.raises(VerifierError, match="rubric.toml"):
        load_rubric(tmp_path / "rubric.toml")
