"""Potential-based shaping leaves the optimal policies alone: proved on MDPs solved exactly.

All arithmetic is in fractions, so "the same optimal actions" has no tolerance in it. The expected
value is the MDP's own solution without shaping.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction as F
from itertools import product

import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from agentgym.records import CheckResult, CheckStatus
from agentgym.rollout.grading import find_milestones
from agentgym.testing.step_grader import step, trajectory
from agentgym.verify.rubric.algebra import evaluate
from agentgym.verify.rubric.tree import Checkpoint, Condition, Kind, Rubric, When
from agentgym.verify.steps.progress import ProgressGrader, shaping


@dataclass(frozen=True)
class Mdp:
    """States 0 … n−1, the last of them terminal; by state and action, what may follow.

    Attributes:
        moves: ``moves[s][a]``: (probability, next state, reward) of each outcome.
        gamma: The discount.
    """

    moves: tuple
    gamma: F

    @property
    def terminal(self):
        return len(self.moves)

    def with_rewards(self, extra):
        """Add ``extra(state, next state)`` to every reward."""
        return Mdp(
            tuple(
                tuple(tuple((p, t, r + extra(s, t)) for p, t, r in move) for move in actions)
                for s, actions in enumerate(self.moves)
            ),
            self.gamma,
        )

    def q(self, values, state, action):
        return sum(p * (r + self.gamma * values[t]) for p, t, r in self.moves[state][action])

    def evaluate(self, policy):
        """Solve V = r + γ·P·V for a policy by Gaussian elimination."""
        n = self.terminal
        rows = []
        for s in range(n):
            row = [F(int(s == t)) for t in range(n)] + [F(0)]
            for p, t, r in self.moves[s][policy[s]]:
                row[n] += p * r
                if t != n:
                    row[t] -= self.gamma * p
            rows.append(row)
        for c in range(n):
            pivot = next(k for k in range(c, n) if rows[k][c])
            rows[c], rows[pivot] = rows[pivot], rows[c]
            rows[c] = [x / rows[c][c] for x in rows[c]]
            for k in range(n):
                if k != c:
                    rows[k] = [x - rows[k][c] * y for x, y in zip(rows[k], rows[c], strict=True)]
        return [*(row[n] for row in rows), F(0)]

    def optimal(self):
        """Return the set of optimal actions of each state, by policy iteration."""
        policy = [0] * self.terminal
        while True:
            values = self.evaluate(policy)
            best = []
            for s in range(self.terminal):
                q = [self.q(values, s, a) for a in range(len(self.moves[s]))]
                best.append({a for a, x in enumerate(q) if x == max(q)})
            if all(policy[s] in best[s] for s in range(self.terminal)):
                return best
            policy = [policy[s] if policy[s] in best[s] else min(best[s]) for s in range(len(best))]


def value_iteration(mdp, sweeps):
    """The same solution another way, by Bellman backups: the solver's own test."""
    values = [F(0)] * (mdp.terminal + 1)
    for _ in range(sweeps):
        values = [
            *(max(mdp.q(values, s, a) for a in range(len(m))) for s, m in enumerate(mdp.moves)),
            F(0),
        ]
    return values


small = st.integers(-3, 3).map(F)


@st.composite
def mdps(draw):
    n = draw(st.integers(1, 4))
    moves = []
    for _ in range(n):
        actions = []
        for _ in range(draw(st.integers(2, 3))):
            parts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
            actions.append(
                tuple((F(part, sum(parts)), draw(st.integers(0, n)), draw(small)) for part in parts)
            )
        moves.append(tuple(actions))
    return Mdp(tuple(moves), F(draw(st.sampled_from([1, 5, 9])), 10))


@settings(max_examples=150, deadline=None)
@given(mdps(), st.data())
def test_any_potential_leaves_the_optimal_policies_alone(mdp, data):
    phi = [F(data.draw(st.integers(0, 4)), 4) for _ in range(mdp.terminal)] + [F(0)]
    shaped = mdp.with_rewards(lambda s, t: shaping(phi[s], phi[t], mdp.gamma))
    assert shaped.optimal() == mdp.optimal()


@settings(max_examples=50, deadline=None)
@given(mdps())
def test_the_solver_is_right(mdp):
    sweeps = 12 if mdp.gamma < F(9, 10) else 60
    values, policy = value_iteration(mdp, sweeps), [min(best) for best in mdp.optimal()]
    exact = mdp.evaluate(policy)
    bound = 2 * mdp.gamma**sweeps * 3 / (1 - mdp.gamma)
    assert max(abs(a - b) for a, b in zip(values, exact, strict=True)) <= bound


# --- milestones in a world where they matter -----------------------------------------------


def workshop(bonus):
    """A task of two milestones, where wandering back and forth is possible and pays nothing.

    The world is bare (0), has a draft (1), or a draft and a fair copy (2). Latched milestones are
    part of the state. Actions: work on (0), tear it up (1), hand in (2). Only handing in the fair
    copy pays. `bonus(latched before, latched after)` is added to each reward, 1 standing for the
    end.
    """
    states = [(w, frozenset(m)) for w, m in product((0, 1, 2), ((), (1,), (1, 2))) if w <= 2]
    states = [(w, m) for w, m in states if w == 0 or w in m]
    index = {state: k for k, state in enumerate(states)}
    end = len(states)

    def move(state, action):
        world, latched = state
        if action == 2:
            return end, F(int(world == 2))
        after = min(world + 1, 2) if action == 0 else 0
        return index[after, latched | ({after} - {0})], F(0)

    moves = tuple(tuple(((F(1), *move(state, action)),) for action in range(3)) for state in states)
    share = [F(len(latched), 2) for _, latched in states] + [F(0)]
    mdp = Mdp(moves, F(9, 10))
    return mdp, mdp.with_rewards(lambda s, t: bonus(share[s], share[t], t == end)), states


def test_milestones_as_potential_keep_the_policy_and_a_naive_bonus_does_not():
    plain, shaped, states = workshop(lambda before, after, over: shaping(before, after, F(9, 10)))
    assert shaped.optimal() == plain.optimal()
    # A reward in every step for what has been reached: never handing in pays best.
    _, naive, _ = workshop(lambda before, after, over: after)
    assert naive.optimal() != plain.optimal()
    finished = states.index((2, frozenset({1, 2})))
    assert plain.optimal()[finished] == {2}
    assert 2 not in naive.optimal()[finished]


def test_a_potential_that_is_kept_at_the_end_changes_the_policy():
    """Two ways to end: a dead end that looks like progress, and a sale that does not."""
    end = 2
    dead_end, sale = ((F(1), 1, F(0)),), ((F(1), end, F(1)),)
    stop = ((F(1), end, F(0)),)
    mdp = Mdp(((dead_end, sale), (stop, stop)), F(3, 4))
    phi = [F(0), F(4), F(0)]
    right = mdp.with_rewards(lambda s, t: shaping(phi[s], phi[t], mdp.gamma))
    kept = mdp.with_rewards(lambda s, t: shaping(phi[s], phi[s] if t == end else phi[t], mdp.gamma))
    assert mdp.optimal()[0] == right.optimal()[0] == {1}
    assert kept.optimal()[0] == {0}


def test_the_property_can_fail():
    """Search finds a bonus that changes a policy, so the property above says something."""

    def changes(found):
        mdp, shares = found
        phi = [F(share, 4) for share in shares[: mdp.terminal]] + [F(0)]
        return mdp.with_rewards(lambda s, t: phi[t]).optimal() != mdp.optimal()

    shares = st.lists(st.integers(0, 4), min_size=4, max_size=4)
    assert find(st.tuples(mdps(), shares), changes)


# --- milestones of which the end says whether they count -----------------------------------

PASS, FAIL = CheckStatus.PASS, CheckStatus.FAIL
KEPT = Checkpoint("kept", when=When.EVERY_STEP)
SOLD, PAID = Checkpoint("sold"), Checkpoint("paid", when=When.EVERY_STEP)
IS_SOLD = (Condition("is-sold"),)


def in_order(*children):
    return Checkpoint("all", kind=Kind.SEQUENCE, children=children)


JUDGED_AT_THE_END = {
    "requires": Rubric((SOLD, replace(KEPT, requires=("sold",)), PAID)),
    "only_if": Rubric((SOLD, replace(KEPT, only_if=("is-sold",)), PAID), 1.0, IS_SOLD),
    "unless": Rubric((SOLD, replace(KEPT, unless=("is-sold",)), PAID), 1.0, IS_SOLD),
    "a group": Rubric(
        (SOLD, replace(in_order(KEPT), requires=("sold",)), PAID),
    ),
    "not reached": Rubric((in_order(SOLD, KEPT), PAID)),
    "too early": Rubric((in_order(PAID, KEPT), SOLD)),
}


async def shop_returns(rubric, sells, waits):
    """Play one policy of a shop: wait some steps, then sell, or close with nothing sold.

    "kept" holds from the start; "paid" holds after the step that sells; whether it is sold is
    looked at only at the end. Returns the return of the task's reward and that of the shaped one.
    """
    gamma, last = 0.5, waits
    latches = {"kept": -1, "paid": last if sells else None}
    results = {id: CheckResult(FAIL if at is None else PASS, step=at) for id, at in latches.items()}
    results |= dict.fromkeys(("sold", "is-sold"), CheckResult(PASS if sells else FAIL))
    shown = replace(
        trajectory([step(k) for k in range(last + 1)]),
        verdict=evaluate(rubric, results),
        milestones=find_milestones(rubric),
    )
    rewards = [0.0] * last + [1.0 if sells else 0.75]
    extra = [grade.value for grade in await ProgressGrader(str(gamma)).grade(shown)]
    discounted = [gamma**t for t in range(last + 1)]
    return (
        sum(d * r for d, r in zip(discounted, rewards, strict=True)),
        sum(d * (r + f) for d, r, f in zip(discounted, rewards, extra, strict=True)),
    )


@pytest.mark.parametrize("rubric", JUDGED_AT_THE_END.values(), ids=JUDGED_AT_THE_END)
async def test_what_only_the_end_decides_does_not_move_the_first_potential(rubric):
    """Every policy gains the same −Φ(s₀), so the best one stays the best one."""
    policies = list(product((True, False), range(3)))
    found = {policy: await shop_returns(rubric, *policy) for policy in policies}
    shift = {round(shaped - plain, 9) for plain, shaped in found.values()}
    assert len(shift) == 1
    assert shift.pop() < 0  # it held at the start, so the first potential is not 0
    best = [max(found, key=lambda policy: found[policy][which]) for which in (0, 1)]
    assert best == [(True, 0)] * 2
