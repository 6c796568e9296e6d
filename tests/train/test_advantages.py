"""Advantages agree with slow references, written from the formulas with plain Python numbers."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agentgym.train.advantages import (
    Tree,
    dr_grpo,
    fork_relative,
    gigpo,
    gigpo_step,
    grpo,
    hgpo,
    mc_grpo,
    potential_rewards,
    returns,
    rloo,
    step_values,
)

EPSILON = 1e-6
reward = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(-10, 10, width=32))
batch = st.lists(st.tuples(reward, st.integers(-2, 3)), min_size=1, max_size=24)


def tensors(pairs):
    rewards, groups = zip(*pairs, strict=True)
    return torch.tensor(rewards, dtype=torch.float64), torch.tensor(groups)


def by_group(pairs, advantage):
    """Return the advantage of each value, given the values of its group and its place there."""
    found = []
    for index, (_, group) in enumerate(pairs):
        members = [n for n, pair in enumerate(pairs) if pair[1] == group]
        values = [pairs[n][0] for n in members]
        found.append(advantage(values, members.index(index)))
    return found


def slow_grpo(values, at):
    if len(set(values)) == 1:
        return 0.0
    return (values[at] - statistics.fmean(values)) / (statistics.stdev(values) + EPSILON)


def slow_dr_grpo(values, at):
    return values[at] - statistics.fmean(values)


def slow_rloo(values, at):
    others = values[:at] + values[at + 1 :]
    return values[at] - statistics.fmean(others) if others else 0.0


def slow_mc_grpo(values, at):
    if len(set(values)) == 1:
        return 0.0
    median = statistics.median(values)
    spread = statistics.median(abs(value - median) for value in values)
    scale = spread or statistics.stdev(values)
    return (values[at] - median) / (scale + EPSILON)


@pytest.mark.parametrize(
    ("fast", "slow"),
    [
        (grpo, slow_grpo),
        (dr_grpo, slow_dr_grpo),
        (rloo, slow_rloo),
        (lambda *pair: mc_grpo(*pair)[0], slow_mc_grpo),
    ],
    ids=["grpo", "dr_grpo", "rloo", "mc_grpo"],
)
@given(pairs=batch)
def test_advantages_of_groups_follow_their_formulas(fast, slow, pairs):
    assert fast(*tensors(pairs)).tolist() == pytest.approx(
        by_group(pairs, slow), rel=1e-4, abs=1e-5
    )


@given(pairs=batch, shift=st.floats(-5, 5), scale=st.floats(0.5, 4))
def test_what_is_added_to_all_rewards_of_a_group_changes_nothing(pairs, shift, scale):
    rewards, groups = tensors(pairs)
    for advantage in (grpo, dr_grpo, rloo):
        shifted = advantage(rewards + shift, groups)
        assert torch.allclose(shifted, advantage(rewards, groups), atol=1e-3)
    assert torch.allclose(dr_grpo(rewards * scale, groups), dr_grpo(rewards, groups) * scale)


@given(pairs=batch)
def test_one_pivot_of_each_odd_group_is_left_out_and_it_is_the_median(pairs):
    rewards, groups = tensors(pairs)
    advantages, counted = mc_grpo(rewards, groups)
    for group in groups.unique():
        mine = groups == group
        left_out = int((~counted[mine]).sum())
        assert left_out == int(mine.sum()) % 2
        assert (advantages[mine & ~counted] == 0).all()


def test_equal_rewards_teach_nothing_even_where_their_mean_is_rounded():
    rewards = torch.full((3,), 0.1)
    assert grpo(rewards, torch.zeros(3, dtype=torch.long)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rewards", "groups", "message"),
    [
        (torch.tensor([1.0, math.nan]), torch.tensor([0, 0]), "not finite; leave out episodes"),
        (torch.tensor([1.0]), torch.tensor([0, 0]), "1 values, but group numbers for 2"),
        (torch.tensor([1, 0]), torch.tensor([0, 0]), "expected a vector of floats"),
        (torch.tensor([1.0, 0.0]), torch.tensor([0.0, 0.0]), "expected a vector of whole numbers"),
    ],
)
def test_bad_input_is_refused(rewards, groups, message):
    with pytest.raises(ValueError, match=message):
        grpo(rewards, groups)


# --- steps ----------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(reward, st.integers(0, 4), st.sampled_from("abc")), min_size=1, max_size=30
)


def columns(drawn):
    rewards, trajectories, states = zip(*drawn, strict=True)
    return torch.tensor(rewards, dtype=torch.float64), torch.tensor(trajectories), list(states)


@given(drawn=steps, gamma=st.floats(0, 1))
def test_returns_are_discounted_sums_to_the_end_of_the_trajectory(drawn, gamma):
    rewards, trajectories, _ = columns(drawn)
    found = returns(rewards, trajectories, gamma=gamma).tolist()
    for index, (_, trajectory, _) in enumerate(drawn):
        later = [each[0] for each in drawn[index:] if each[1] == trajectory]
        wanted = sum(value * gamma**power for power, value in enumerate(later))
        assert found[index] == pytest.approx(wanted, rel=1e-6, abs=1e-6)


@given(drawn=steps, gamma=st.floats(0, 1), data=st.data())
def test_potentials_change_a_return_by_the_potential_of_its_first_state_only(drawn, gamma, data):
    rewards, trajectories, _ = columns(drawn)
    numbers = st.lists(st.floats(-5, 5), min_size=len(drawn), max_size=len(drawn))
    potentials = torch.tensor(data.draw(numbers), dtype=torch.float64)
    shaped = potential_rewards(rewards, potentials, trajectories, gamma=gamma)
    plain = returns(rewards, trajectories, gamma=gamma)
    found = returns(shaped, trajectories, gamma=gamma)
    assert torch.allclose(found, plain - potentials, atol=1e-6)


def slow_gigpo_step(drawn, groups, values):
    found = []
    for _, trajectory, state in drawn:
        key = (groups[trajectory], state)
        mine = [values[n] for n, each in enumerate(drawn) if (groups[each[1]], each[2]) == key]
        at = len(found)
        own = [n for n, each in enumerate(drawn) if (groups[each[1]], each[2]) == key].index(at)
        found.append(slow_grpo(mine, own))
    return found


@given(drawn=steps)
def test_gigpo_adds_the_advantage_among_steps_of_one_state(drawn):
    rewards, trajectories, states = columns(drawn)
    groups = torch.tensor([0, 0, 1, 1, 1])
    totals = torch.tensor([1.0, 0.0, 0.5, 0.0, 0.0], dtype=torch.float64)
    found = gigpo(totals, rewards, trajectories, groups, states, weight=0.5)
    step = slow_gigpo_step(drawn, groups.tolist(), rewards.tolist())
    episode = by_group(list(zip(totals.tolist(), groups.tolist(), strict=True)), slow_grpo)
    wanted = [episode[each[1]] + 0.5 * step[n] for n, each in enumerate(drawn)]
    assert found.tolist() == pytest.approx(wanted, rel=1e-4, abs=1e-5)


@given(drawn=steps, depth=st.integers(0, 3), alpha=st.sampled_from([0.0, 1.0, 2.0]))
def test_hgpo_weighs_the_groups_of_each_depth(drawn, depth, alpha):
    rewards, trajectories, states = columns(drawn)
    groups = (trajectories > 1).long()
    found = hgpo(rewards, groups, trajectories, states, history=depth, alpha=alpha)
    pasts = []
    for index, (_, trajectory, _) in enumerate(drawn):
        pasts.append([each[2] for each in drawn[: index + 1] if each[1] == trajectory])
    for index in range(len(drawn)):
        total = weights = 0.0
        for k in range(depth + 1):
            if len(pasts[index]) <= k:
                continue
            mine = [
                n
                for n in range(len(drawn))
                if groups[n] == groups[index]
                and len(pasts[n]) > k
                and pasts[n][-k - 1 :] == pasts[index][-k - 1 :]
            ]
            if len(mine) > 1:
                values = [drawn[n][0] for n in mine]
                total += (k + 1) ** alpha * slow_grpo(values, mine.index(index))
                weights += (k + 1) ** alpha
        assert found[index].item() == pytest.approx(total / weights if weights else 0.0, abs=1e-4)


def test_depth_0_of_the_hierarchy_is_the_group_of_the_state():
    values, groups = torch.rand(8, dtype=torch.float64), torch.zeros(8, dtype=torch.long)
    trajectories = torch.tensor([0, 0, 1, 1, 2, 2, 3, 3])
    states = list("abababab")
    assert torch.allclose(
        hgpo(values, groups, trajectories, states, history=0), gigpo_step(values, groups, states)
    )


# --- trees ----------------------------------------------------------------------------------------


@st.composite
def trees(draw):
    parents = [-1]
    for node in range(1, draw(st.integers(1, 14))):
        parents.append(draw(st.integers(-1, node - 1)))
    leaves = set(range(len(parents))) - set(parents)
    return Tree(parents, [draw(reward) if n in leaves else None for n in range(len(parents))])


def leaf_rewards(tree, node):
    if tree.rewards[node] is not None:
        return [tree.rewards[node]]
    children = [n for n, parent in enumerate(tree.parents) if parent == node]
    return [value for child in children for value in leaf_rewards(tree, child)]


@given(tree=trees())
def test_the_value_of_a_node_is_the_mean_of_its_leaves(tree):
    values, counts = step_values(tree)
    for node in range(len(tree.parents)):
        below = leaf_rewards(tree, node)
        assert (counts[node], values[node].item()) == (
            len(below),
            pytest.approx(statistics.fmean(below), abs=1e-6),
        )


def slow_fork_relative(tree, node, between):
    def value(each):
        return statistics.fmean(leaf_rewards(tree, each))

    def gain(each):
        siblings = [n for n, p in enumerate(tree.parents) if p == tree.parents[each] and n != each]
        return value(each) - statistics.fmean(map(value, siblings)) if siblings else 0.0

    root = node
    while tree.parents[root] >= 0:
        root = tree.parents[root]
    across = between * gain(root)
    while tree.parents[node] >= 0 and tree.parents.count(tree.parents[node]) == 1:
        node = tree.parents[node]
    return across if node == root else gain(node) + across


@given(tree=trees(), between=st.sampled_from([0.0, 0.5, 1.0]))
def test_a_fork_compares_its_branches(tree, between):
    found = fork_relative(tree, between=between).tolist()
    wanted = [slow_fork_relative(tree, n, between) for n in range(len(tree.parents))]
    assert found == pytest.approx(wanted, abs=1e-6)


def test_a_tree_of_single_leaves_is_leave_one_out():
    rewards = [1.0, 0.0, 0.25, 0.5]
    found = fork_relative(Tree([-1] * 4, rewards))
    assert torch.allclose(found, rloo(found.new_tensor(rewards), torch.zeros(4, dtype=torch.long)))


@pytest.mark.parametrize(
    ("parents", "rewards", "message"),
    [
        ([1, -1], [1.0, None], "node 0 has the parent 1; parents come first"),
        ([-1, 0], [None, None], "leaf 1 has no reward; leave out unscored"),
        ([-1, 0], [1.0, 1.0], "node 0 has children and a reward"),
        ([-1], [1.0, 0.0], "1 parents, but 2 rewards"),
    ],
)
def test_what_is_no_tree_is_refused(parents, rewards, message):
    with pytest.raises(ValueError, match=message):
        Tree(parents, rewards)
