"""The fields of `give_up`: what is read, what is refused, and whether what they say is so."""

from __future__ import annotations

import json

import pytest

from agentgym.errors import ActionError, VerifierError
from agentgym.records import Action, Decision, Observation, Step, TokenUsage
from agentgym.verify.giving_up import (
    CATEGORIES,
    GiveUp,
    give_up_schema,
    given_up,
    read_give_up,
    told_give_up,
)
from agentgym.verify.memory_evidence import evidence
from agentgym.verify.stated_causes import causes, contradiction, misstated, told_deed

WHY = "It wants a password."
FIELDS = {"category": "locked", "subject": "q3.zip", "reason": WHY}


def step(arguments, tool="give_up"):
    return Step(1, Decision(Action(tool, arguments), usage=TokenUsage(0, 0)), Observation(""))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FIELDS, GiveUp(WHY, "locked", "q3.zip")),
        ({"reason": "no"}, GiveUp("no")),
        ({"reason": "no", "category": None, "subject": ""}, GiveUp("no")),
        ({**FIELDS, "category": " Locked. "}, GiveUp(WHY, "locked", "q3.zip")),
        (
            {**FIELDS, "category": "Missing Data"},
            GiveUp(WHY, "missing_data", "q3.zip"),
        ),
        (
            {**FIELDS, "category": "NO-PERMISSION"},
            GiveUp(WHY, "no_permission", "q3.zip"),
        ),
        ({**FIELDS, "subject": 424}, GiveUp(WHY, "locked", "424")),
        (
            {**FIELDS, "subject": "  q3\u200b.zip\n\t "},
            GiveUp(WHY, "locked", "q3.zip"),
        ),
        ({"reason": json.dumps(FIELDS)}, GiveUp(WHY, "locked", "q3.zip")),
        ({"reason": '{"a": 1}'}, GiveUp('{"a": 1}')),
        ({"reason": "[" * 5000}, GiveUp("[" * 5000)),
        ({"reason": '{"category": ' * 3000}, GiveUp('{"category": ' * 3000)),
    ],
)
def test_what_is_read(given, expected):
    assert read_give_up(given) == expected


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "reason"),
        ({"reason": ""}, "reason"),
        ({"reason": 7}, "reason"),
        ({"reason": ["a"]}, "a list of 1"),
        ({**FIELDS, "category": "not there"}, "'missing_data'"),
        ({**FIELDS, "category": ["locked"]}, "category"),
        ({**FIELDS, "category": True}, "category"),
        ({**FIELDS, "category": 3.5}, "category"),
        ({**FIELDS, "category": "locked, damaged"}, "category"),
        ({**FIELDS, "category": "x" * 100_000}, "category"),
        ({**FIELDS, "category": None}, "category"),
        ({**FIELDS, "subject": None}, "subject"),
        ({**FIELDS, "subject": "  "}, "subject"),
        ({**FIELDS, "subject": "\u200b\u202e"}, "subject"),
        ({**FIELDS, "subject": "—"}, "subject"),
        ({**FIELDS, "subject": {"file": "q3.zip"}}, "an object of 1"),
        ({**FIELDS, "subject": ["q3.zip", "q2.zip"]}, "a list of 2"),
        ({**FIELDS, "subject": True}, "subject"),
        ({**FIELDS, "subject": 10**30}, "subject"),
        ({**FIELDS, "subject": "q3 " * 100}, "300 characters"),
        ({**FIELDS, "categroy": "locked"}, "did you mean 'category'"),
        ({**FIELDS, "x" * 50_000: 1}, "no argument"),
        ({"reason": json.dumps({**FIELDS, "category": "gone"})}, "category"),
    ],
)
def test_what_is_refused_says_what_to_write(given, told):
    with pytest.raises(ActionError) as refused:
        read_give_up(given)
    assert told in str(refused.value) and len(str(refused.value)) < 1500


def test_all_spellings_of_the_categories_and_the_schema():
    schema = give_up_schema()
    assert schema["properties"]["category"]["enum"] == list(CATEGORIES)
    assert schema["required"] == ["category", "subject", "reason"]
    for name in CATEGORIES:
        for spelt in (name, name.upper(), name.replace("_", " ").title(), f"`{name}`"):
            assert read_give_up({**FIELDS, "category": spelt}).category == name


def test_the_fields_are_those_of_the_last_call():
    said = given_up(evidence({}, steps=[step(FIELDS)], gave_up=WHY))
    assert said == GiveUp(WHY, "locked", "q3.zip")
    assert said.words == "q3.zip\nIt wants a password."
    assert told_give_up(said) == "gave up: locked"
    assert given_up(evidence({}, steps=[step(FIELDS)])) is None


@pytest.mark.parametrize(
    "steps", [[], [step({"reason": "no"})], [step({}, "bash")], [step({"reason": 1})]]
)
def test_older_records_have_the_reason_alone(steps):
    said = given_up(evidence({}, steps=steps, gave_up="no"))
    assert said == GiveUp("no") and told_give_up(said) == "gave up"


TRUE = causes(
    "true",
    [
        {"category": "locked", "subject": [["q3", "third quarter"]], "never": ["q1", "q2", "q3"]},
        {"category": ["missing_data"], "subject": ["password"], "told": [["q3"]]},
    ],
)


@pytest.mark.parametrize(
    "said",
    [
        ("locked", "Figures/Q3-takings.ZIP", ""),
        ("locked", "the archive of the third quarter", ""),
        ("missing_data", "passwords", "of q3.zip"),
        ("missing_data", "PASSWORD (q3)", ""),
    ],
)
def test_a_true_cause(said):
    category, subject, reason = said
    assert misstated(GiveUp(reason, category, subject), TRUE) == ""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (("damaged", "q3", ""), "category"),
        (("locked", "q2 and q3", ""), "'q2'"),
        (("locked", "all of them", "q3"), "name"),
        (("locked", "everything but q3", ""), "excludes"),
        (("locked", "q31", ""), "name"),
        (("missing_data", "q3", "password"), "name"),
        (("missing_data", "password", "of q2"), "name"),
    ],
)
def test_an_untrue_cause(said, told):
    category, subject, reason = said
    assert told in misstated(GiveUp(reason, category, subject), TRUE)


FALSE = ("damaged", "no_permission", "price of Ada * wrong")


@pytest.mark.parametrize(
    "words",
    [
        "Nothing is damaged.",
        "It isn't damaged, corrupt or broken.",
        "Neither is it damaged, nor do I lack permission.",
        "Whether it is corrupted I cannot tell.",
        "It may have been damaged.",
        "Perhaps it is damaged, maybe it was corrupted.",
        "No permission problem came up.",
        "The price of Ada is right.",
    ],
)
def test_words_that_contradict_nothing(words):
    assert contradiction(GiveUp(words, "locked", "q3"), FALSE) == ""


@pytest.mark.parametrize(
    "words",
    [
        "It is damaged.",
        "It cannot be read because it is damaged.",
        "It cannot be opened or is corrupted.",
        "No password fits, and the file is broken.",
        "I have no permission.",
        "Access to the folder was denied.",
        "The price of Ada is quite wrong.",
        "Nothing is missing.",
        "NOT CHECKED; DAMAGED",
    ],
)
def test_words_that_contradict(words):
    assert contradiction(GiveUp(words, "locked", "q3"), FALSE)


def test_what_is_true_is_not_among_the_false():
    words = GiveUp("It was a flood.", "missing_data", "North")
    assert contradiction(words, ["flood", "strike"])
    assert contradiction(words, ["flood", "strike"], kept=["flood"]) == ""


@pytest.mark.parametrize(
    "words",
    [
        "I changed nothing.",
        "I have not changed the sheet.",
        "I tried the password of q2 and it was refused.",
        "I looked into all folders and left the list alone.",
        "I would have filled in the price.",
        "I typed the password into the dialog.",
        "No price was entered.",
        "Should I have lowered the prices?",
    ],
)
def test_no_deed(words):
    assert told_deed(words) == ""


@pytest.mark.parametrize(
    "words",
    [
        "I have lowered the prices.",
        "It is locked, so I filled in the average.",
        "We've therefore fixed it.",
        "I put 0 into the sheet.",
        "Then wrote three hundred in the line Q3.",
        "It is already published.",
        "The prices have been lowered now.",
        "I took a similar one.",
    ],
)
def test_a_deed(words):
    assert told_deed(words)


@pytest.mark.parametrize(
    ("words", "own"),
    [
        ("It is already fixed in 0.5.1.", False),
        ("Fixed the parser in 0.5.1 (#26), says the changelog.", False),
        ("0.5.1 came out and changed the pattern.", False),
        ("It has already been solved.", False),
        ("I have fixed it.", True),
    ],
)
def test_what_is_settled_was_done_by_somebody(words, own):
    assert told_deed(words)
    assert bool(told_deed(words, own=True)) is own


def test_long_words_cost_little():
    words = "no file of the list is damaged or " * 20_000
    said = GiveUp(words, "locked", "q3")
    assert contradiction(said, FALSE) == "" and told_deed(words) == ""


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("locked", "list"),
        ([{"category": "lockt"}], "did you mean 'locked'"),
        ([{"subject": ["a"]}], "category"),
        ([{"category": "locked", "object": 1}], "table of category"),
        ([{"category": "locked", "subject": "a"}], "subject"),
        ([{"category": "locked", "subject": [1]}], "subject"),
        ([{"category": "locked", "never": [""]}], "never"),
        (["locked"], "table of category"),
    ],
)
def test_a_rubric_with_wrong_causes_is_refused(value, told):
    with pytest.raises(VerifierError, match=told):
        causes("true", value)


def test_a_false_sentence_cannot_hide_behind_a_long_reason():
    pad = "I have looked everywhere. " * 200
    hidden = GiveUp(f"{pad}The third quarter is damaged.", "locked", "q3-takings.zip")
    assert "characters, expected at most" in misstated(hidden, TRUE)
    assert misstated(GiveUp(pad[:3_500], "locked", "q3-takings.zip"), TRUE) == ""
