"""Trimming a dialogue to a budget."""

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from agentgym.agents.context import RECENT, compose, fit, turn_tokens
from agentgym.agents.dialogue import Turn, turns
from agentgym.records import Action, Briefing, Decision, Observation, Step

BRIEFING = Briefing("a/b-v1", "Do it.", 1, 50)


def turn(size, image=None, call_size=0):
    return Turn({"role": "assistant", "content": "c" * call_size}, "id", "x" * size, image)


def test_what_fits_is_left_alone():
    given_turns = [turn(400), turn(400)]
    assert fit(given_turns, 1000) == given_turns


def test_a_short_output_is_not_replaced_by_a_longer_note():
    kept = fit([turn(3), *(turn(4000) for _ in range(RECENT))], 0)
    assert all(t.output != "xxx" or len(t.output) <= 3 for t in kept)
    small = fit([turn(3), turn(8000), *(turn(400) for _ in range(RECENT))], 800)
    assert small[0].output == "xxx"
    assert small[1].output.startswith("[8000 characters")


def test_whole_old_steps_go_where_their_calls_are_too_long():
    many = [turn(10, call_size=4000) for _ in range(10)]
    assert len(fit(many, 5500)) == 5
    history = [
        Step(i, Decision(Action("bash", {"command": "y" * 4000})), Observation("ok"))
        for i in range(10)
    ]
    messages, size = compose(BRIEFING, None, history, 5500)
    assert size <= 5500
    assert "(The first 5 steps" in messages[1]["content"]
    assert len([m for m in messages if m["role"] == "tool"]) == 5


def test_a_single_huge_output_keeps_head_and_tail():
    output = "HEAD" + "x" * 100_000 + "TAIL"
    (kept,) = fit([Turn({}, "id", output, None)], 1000)
    assert kept.output.startswith("HEAD") and kept.output.endswith("TAIL")
    assert "characters left out to save room" in kept.output
    assert len(kept.output) < 4100


def test_an_image_counts_and_goes_with_its_output():
    image = np.zeros((2, 2, 3), np.uint8)
    kept = fit([turn(4000, image), *(turn(4000) for _ in range(RECENT))], 4200)
    assert kept[0].image is None
    assert [len(t.output) for t in kept[1:]] == [4000] * RECENT


@example([], -1)
@given(st.lists(st.integers(0, 3000), max_size=12), st.integers(-100, 4000))
def test_recent_turns_stay_and_the_result_is_near_the_budget(sizes, budget):
    history = [
        Step(i, Decision(Action("look")), Observation("x" * size)) for i, size in enumerate(sizes)
    ]
    before = turns(history)
    after = fit(before, budget)
    assert [t.call for t in after] == [t.call for t in before][len(before) - len(after) :]
    assert len(after) >= min(len(before), RECENT)
    room_for_notes = sum(turn_tokens(turn(80, call_size=130)) for _ in after)
    assert sum(map(turn_tokens, after)) <= max(budget, 0) + room_for_notes
