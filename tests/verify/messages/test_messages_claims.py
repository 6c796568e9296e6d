"""Claims: which sentences assert something, which deny it or leave it open, and what was done."""

import pytest

from agentgym.verify.messages.claims import deeds, phrase, stance
from agentgym.verify.messages.closed_world import closed_world
from agentgym.verify.messages.ranges import find_ranges
from agentgym.verify.messages.units import read_message
from agentgym.verify.messages.words import words

_APPROVED = phrase("(refund|money) (approved|on its way)")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The refund has been approved.", "said"),
        ("The refund, it seems, cannot be named; the money is already on its way.", "said"),
        ("No doubt your money is on its way.", "said"),
        ("Your money is not on its way.", "denied"),
        ("I cannot say that the refund is approved.", "denied"),
        ("I do not know the day, but the refund is approved.", "said"),
        ("If they agree, the refund is approved today.", "open"),
        ("Once the refund is approved you will hear from them.", "open"),
        ("Is the refund approved?", "open"),
    ],
)
def test_a_phrase_is_asserted_denied_or_left_open(text, expected):
    found = [
        stance(unit, start, inside=inside, end=end)
        for unit in read_message(text).units
        for start, end, inside in _APPROVED.spans(unit.tokens)
    ]
    assert found == [expected]


def test_a_phrase_is_not_found_in_other_words():
    tokens = read_message("They decide on the refund, and I approve of that.").tokens()
    assert not list(_APPROVED.spans(tokens))


@pytest.mark.parametrize(
    ("text", "verbs"),
    [
        ("I have cancelled your plan.", ["cancelled"]),
        ("Your plan was cancelled, and we will delete the file.", ["cancelled", "delete"]),
        ("Clara approved it.", ["approved"]),
        ("Finance has already wired the money.", ["wired"]),
        ("I'm sharing it now.", ["sharing"]),
        ("I'll double it.", ["double"]),
        ("It is going to be refunded.", ["refunded"]),
        ("It can be cancelled, and would have to be deleted by him.", []),
        ("I have looked at it and found what you asked for.", []),
        ("The address you opened it from, please.", []),
        ("Please cancel it.", []),
    ],
)
def test_deeds_are_what_was_or_will_be_done(text, verbs):
    found = [
        unit.tokens[place].text
        for unit in read_message(text).units
        for place in deeds(unit, words().deeds, own=True)
    ]
    assert found == verbs


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("You were charged twice.", True),
        ("Were you not charged twice?", True),
        ("You were not charged twice.", False),
        ("There was no second charge.", False),
    ],
)
def test_what_is_so_may_not_be_denied(text, fine):
    world = closed_world(holds=["charged twice", "(second|double) charge"])
    assert (not world.fault(text)) is fine


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("I have handed the ticket on.", True),
        ("I passed your case on to the team, it was forwarded today.", False),
        ("I have not closed the ticket.", True),
        ("I have closed the ticket.", False),
        ("Shall I close the ticket?", True),
    ],
)
def test_only_licensed_deeds_may_be_told(text, fine):
    assert (not closed_world(acts=["(handed|passed) on"]).fault(text)) is fine


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("It is from 14:00 to 15:30.", True),
        ("It is from 2 pm until half past three.", True),
        ("It is from 14:00 to 16:00.", False),
        ("It is from 15:30 to 17:30.", False),
        ("It is at 15:30.", True),
    ],
)
def test_hours_that_are_told_as_a_range_belong_together(text, fine):
    world = closed_world(knows=["14:00 to 15:30", "9:30 to 17:30", "16:00"])
    assert (not world.fault(text)) is fine


def test_a_range_may_be_written_with_a_dash():
    assert [str(one) for one in find_ranges("14:00-15:30, 9 am")] == ["14:00 15:30"]


@pytest.mark.parametrize(
    ("text", "fine"),
    [("It ends on Friday.", True), ("It ends on Saturday.", False), ("Not on Saturday.", True)],
)
def test_a_weekday_is_licensed_by_a_date(text, fine):
    assert (not closed_world(may=[{"date": "2026-03-06"}]).fault(text)) is fine
