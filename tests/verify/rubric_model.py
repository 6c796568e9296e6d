"""A slow model of the rubric's algebra, written from its laws and unlike the code.

What does not stand and what is a bonus is cut out of the tree; whole passes over the rest settle
whatever can be settled until nothing changes. Exact fractions, no look-ups on demand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from hypothesis import strategies as st

from agentgym.records import CheckResult, CheckStatus, Phase
from agentgym.verify.rubric.tree import Checkpoint, Condition, Kind, Rubric, When

PASS, FAIL, NA, ERROR = (
    CheckStatus.PASS,
    CheckStatus.FAIL,
    CheckStatus.NOT_APPLICABLE,
    CheckStatus.ERROR,
)


@dataclass(frozen=True)
class Known:
    """What the model says of a node; `mine` is False for a failure out of the agent's hands."""

    status: CheckStatus
    credit: Fraction = Fraction(0)
    mine: bool = True
    step: int | None = None


@dataclass
class Model:
    """What the model says of a rubric."""

    status: str
    known: dict[str, Known]
    score: Fraction = Fraction(0)
    outcome: bool = False
    process: Fraction | None = None
    safety: set[str] = field(default_factory=set)
    uncontrollable: set[str] = field(default_factory=set)
    bonus: Fraction | None = None


def walk(siblings: tuple[Checkpoint, ...]) -> Iterator[Checkpoint]:
    for node in siblings:
        yield node
        yield from walk(node.children)


def without(siblings: tuple[Checkpoint, ...], gone: set[str]) -> tuple[Checkpoint, ...]:
    """Cut nodes out: of the tree, of what is required, and groups that are left empty."""
    kept = []
    for node in siblings:
        children = without(node.children, gone)
        if node.id in gone or (node.children and not children):
            continue
        needs = tuple(r for r in node.requires if r not in gone)
        kept.append(replace(node, children=children, requires=needs))
    here = {node.id for node in walk(tuple(kept))}
    emptied = {n.id for n in walk(siblings)} - here - gone
    return without(tuple(kept), gone | emptied) if emptied else tuple(kept)


def model(rubric: Rubric, found: Mapping[str, CheckResult], judged: bool = True) -> Model:
    plain = tuple(c for c in rubric.checkpoints if not c.bonus)
    main = _plain(plain, found, judged)
    if not any(c.bonus for c in rubric.checkpoints):
        return _numbers(rubric, plain, main)
    whole = _plain(rubric.checkpoints, found, judged)
    said = _numbers(rubric, plain, main)
    said.known = whole
    tops = [c for c in rubric.checkpoints if c.bonus]
    said.bonus = None
    if said.status == "scored":
        parts = _together(Kind.WEIGHTED, tops, whole)
        said.bonus = parts.credit if parts.status in (PASS, FAIL) else None
    return said


def _plain(
    tops: tuple[Checkpoint, ...], found: Mapping[str, CheckResult], judged: bool
) -> dict[str, Known]:
    above: dict[str, Checkpoint] = {c.id: n for n in walk(tops) for c in n.children}

    def chain(node: Checkpoint) -> list[Checkpoint]:
        return [node, *chain(above[node.id])] if node.id in above else [node]

    broken, gone = set(), set()
    for node in walk(tops):
        wanted = [c for one in chain(node) for c in one.only_if]
        unwanted = [c for one in chain(node) for c in one.unless]
        if not judged and any(one.only_if_judged for one in chain(node)):
            gone.add(node.id)
        elif any(found[c].status is ERROR for c in wanted + unwanted):
            broken.add(node.id)
        elif not all(found[c].status is PASS for c in wanted) or any(
            found[c].status is PASS for c in unwanted
        ):
            gone.add(node.id)
    left = without(tops, gone)
    known = _settled(left, found, broken)
    all_known = {node.id: known.get(node.id, Known(NA)) for node in walk(tops)}
    # When a milestone first held is a fact, whatever the laws above made of it.
    leaves = [node for node in walk(tops) if node.kind is Kind.LEAF]
    latched = {leaf.id: found[leaf.id].step for leaf in leaves if leaf.when is When.EVERY_STEP}
    return {id: replace(k, step=latched.get(id, k.step)) for id, k in all_known.items()}


def _settled(
    tops: tuple[Checkpoint, ...], found: Mapping[str, CheckResult], broken: set[str]
) -> dict[str, Known]:
    nodes = list(walk(tops))
    above = {c.id: n for n in nodes for c in n.children}
    known: dict[str, Known] = {}

    def chain(node: Checkpoint) -> list[Checkpoint]:
        return [node, *chain(above[node.id])] if node.id in above else [node]

    def ahead(node: Checkpoint) -> list[str]:
        """What stands before a node in sequences, outermost sequence first."""
        names: list[str] = []
        for one in reversed(chain(node)):
            if one.id in above and above[one.id].kind is Kind.SEQUENCE:
                row = [c.id for c in above[one.id].children]
                names += row[: row.index(one.id)]
        return names

    def settle(node: Checkpoint) -> Known | None:
        if node.id in broken:
            return Known(ERROR)
        needed = [r for one in chain(node) for r in one.requires]
        before = ahead(node)
        if any(r not in known for r in [*needed, *before, *(c.id for c in node.children)]):
            return None
        if any(known[r].status is not PASS for r in needed):
            return Known(NA)
        if node.children and all(known[c.id].status is NA for c in node.children):
            return Known(NA)
        stopped = [known[r] for r in before if known[r].status in (FAIL, ERROR)]
        if stopped:
            return Known(FAIL, mine=stopped[0].mine)
        if node.kind is not Kind.LEAF:
            return _together(node.kind, list(node.children), known)
        result = found[node.id]
        credit = Fraction(result.score if result.score is not None else result.status is PASS)
        if node.when is When.END:
            return Known(result.status, credit, result.controllable)
        if result.status is PASS and any(
            (known[r].step if known[r].step is not None else -9) > result.step for r in before
        ):
            return Known(FAIL)
        return Known(result.status, credit, result.controllable, result.step)

    while len(known) < len(nodes):
        count = len(known)
        for node in nodes:
            now = settle(node) if node.id not in known else None
            if now is not None:
                excuses = [found[c].status for c in node.uncontrollable_if]
                if now.status is FAIL and now.mine and ERROR in excuses:
                    now = Known(ERROR)
                elif now.status is FAIL and PASS in excuses:
                    now = replace(now, mine=False)
                known[node.id] = now if now.status is FAIL else replace(now, mine=True)
        assert len(known) > count, "the rubric has a cycle"
    return known


def _together(kind: Kind, children: list[Checkpoint], known: Mapping[str, Known]) -> Known:
    parts = [(c, known[c.id]) for c in children if known[c.id].status is not NA]
    if not parts:
        return Known(NA)
    mine = not all(not k.mine for _, k in parts if k.status is FAIL)
    parts = [(c, k) for c, k in parts if c.phase is not Phase.PROCESS or k.mine]
    if not parts:
        return Known(FAIL, mine=False)
    if any(k.status is ERROR for _, k in parts):
        return Known(ERROR)
    oks = [k.status is PASS for _, k in parts]
    ok = any(oks) if kind is Kind.ANY else all(oks)
    if kind is Kind.ALL:
        credit = Fraction(int(ok))
    elif kind is Kind.ANY:
        credit = max(k.credit for _, k in parts)
    else:
        whole = sum(Fraction(c.weight) for c, _ in parts)
        credit = sum((Fraction(c.weight) / whole * k.credit for c, k in parts), Fraction(0))
    return Known(PASS if ok else FAIL, credit, mine or ok, _since(kind, parts) if ok else None)


def _since(kind: Kind, parts: list[tuple[Checkpoint, Known]]) -> int | None:
    """Try every step in turn: from which one on has the group held?"""
    passed = [k for _, k in parts if k.status is PASS]
    for step in range(-1, 10):
        held = [k.step is not None and k.step <= step for k in passed]
        if any(held) if kind is Kind.ANY else all(held):
            return step
    return None


def _numbers(rubric: Rubric, tops: tuple[Checkpoint, ...], known: dict[str, Known]) -> Model:
    if any(k.status is ERROR for k in known.values()):
        return Model("error:verifier", known)
    nodes = list(walk(tops))

    def phase(which: Phase) -> Known:
        return _together(Kind.WEIGHTED, [c for c in tops if c.phase is which], known)

    gates = {
        n.phase
        for n in nodes
        if n.gate and known[n.id].status is FAIL
        if n.phase is not Phase.PROCESS or known[n.id].mine
    }
    process = phase(Phase.PROCESS)
    counts = process.status is not NA and process.mine
    score = Fraction(0) if gates else phase(Phase.OUTCOME).credit
    return Model(
        "scored",
        known,
        score=score,
        outcome=not gates and score >= Fraction(rubric.pass_score) - Fraction(1, 10**9),
        process=(Fraction(0) if Phase.PROCESS in gates else process.credit) if counts else None,
        safety={c.id for c in tops if c.phase is Phase.SAFETY and known[c.id].status is FAIL},
        uncontrollable={i for i, k in known.items() if k.status is FAIL and not k.mine},
    )


# --- rubrics and results, drawn ---------------------------------------------------------------

CONDITIONS = ("c0", "c1", "c2")


@st.composite
def rubrics(draw: st.DrawFn, bonus: bool = True) -> Rubric:
    """Draw a rubric without cycles: what a checkpoint requires ends before it begins."""
    names = (f"n{i}" for i in range(1000))
    complete: list[str] = []

    def rarely(values: list[str] | tuple[str, ...], one_in: int) -> tuple[str, ...]:
        if not values or draw(st.integers(1, one_in)) > 1:
            return ()
        return (draw(st.sampled_from(values)),)

    def node(phase: Phase, depth: int, bonus: bool, around: Kind = Kind.WEIGHTED) -> Checkpoint:
        name = next(names)
        # Leaves of sequences are where milestones come too early: without a push that is rare.
        ordered = around is Kind.SEQUENCE and draw(st.integers(0, 2)) > 0
        kind = Kind.LEAF if depth == 3 or ordered else draw(st.sampled_from(list(Kind)))
        requires = rarely(complete, 4)
        only_if = rarely(CONDITIONS, 5)
        unless = rarely([c for c in CONDITIONS if c not in only_if], 8)
        children: tuple[Checkpoint, ...] = ()
        if kind is not Kind.LEAF:
            many = range(draw(st.integers(1, 3)))
            children = tuple(node(phase, depth + 1, bonus, kind) for _ in many)
        if not bonus:
            complete.append(name)
        every_step = kind is Kind.LEAF and (ordered or draw(st.booleans()))
        return Checkpoint(
            name,
            kind=kind,
            use="" if children else "files.exists",
            weight=draw(st.sampled_from([0.5, 1.0, 2.0, 3.0])),
            phase=phase,
            gate=not bonus and draw(st.integers(0, 5)) == 0,
            requires=requires,
            only_if=only_if,
            unless=unless,
            only_if_judged=draw(st.integers(0, 7)) == 0,
            uncontrollable_if=rarely(CONDITIONS, 4),
            bonus=bonus and depth == 0,
            when=When.EVERY_STEP if every_step else When.END,
            children=children,
        )

    phases = [Phase.OUTCOME, *draw(st.lists(st.sampled_from(list(Phase)), max_size=4))]
    tops = [node(phase, 0, False) for phase in phases]
    if bonus:
        for phase in draw(st.lists(st.sampled_from(list(Phase)), max_size=2)):
            tops.insert(draw(st.integers(0, len(tops))), node(phase, 0, True))
    conditions = tuple(Condition(name, use="files.exists") for name in CONDITIONS)
    return Rubric(tuple(tops), draw(st.sampled_from([0.25, 0.5, 0.75, 1.0])), conditions)


@st.composite
def results(draw: st.DrawFn, rubric: Rubric, errors: bool = True) -> dict[str, CheckResult]:
    """Draw what the checks of a rubric find."""
    likely = [PASS, PASS, PASS, FAIL, FAIL, NA]
    likely += [ERROR] * (draw(st.integers(0, 3)) == 3) if errors else []
    found = {name: CheckResult(draw(st.sampled_from(likely))) for name in CONDITIONS}
    for leaf in rubric.leaves():
        status = draw(st.sampled_from(likely))
        scores = {PASS: [None, 0.5, 1.0], FAIL: [None, 0.0, 0.25, 0.5]}.get(status, [None])
        step = None
        if leaf.when is When.EVERY_STEP and status is PASS:
            step = draw(st.integers(-1, 4))
        score = draw(st.sampled_from(scores))
        found[leaf.id] = CheckResult(status, "", score, draw(st.integers(0, 4)) > 0, step)
    return found
