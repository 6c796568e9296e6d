"""Messages made of saved replies: their schema, what is refused, and what the user reads."""

import json

import pytest
from pydantic import ValidationError

from agentgym.errors import ActionError
from agentgym.records import SentReply
from agentgym.task.replies import SavedReply
from agentgym.verify.reply_form import read_message, replies_schema


def field(name, type, **options):
    return {"name": name, "type": type, "about": name, **options}


REPLIES = [
    SavedReply.model_validate_json(json.dumps(reply))
    for reply in (
        {"id": "greeting", "say": "Good morning."},
        {"id": "ask", "say": "Which ticket is it about?"},
        {
            "id": "slot",
            "say": "You have {day}, from {start}.",
            "field": [field("day", "date"), field("start", "time")],
        },
        {
            "id": "credit",
            "say": "Your credit is {amount}, {how}.",
            "field": [
                field("amount", "amount", unit="EUR"),
                field("how", "choice", choices=["set off", "paid out"]),
            ],
        },
        {
            "id": "invited",
            "say": "Invited: {people}.",
            "field": [field("people", "person", list=True)],
        },
    )
]


def test_the_user_reads_the_sentences_with_the_values_in_one_form():
    slot = {"reply": "slot", "day": "5 March 2026", "start": "2 pm"}
    credit = {"reply": "credit", "amount": "1.297,50 €", "how": "Set off"}
    invited = {"reply": "invited", "people": ["Lind, Bo", "Ada Holm", "Cy Park"]}
    message = read_message(REPLIES, {"replies": ["greeting", slot, credit, invited]})
    assert message.text == (
        "Good morning. You have Thursday, 5 March 2026, from 14:00. "
        "Your credit is EUR 1,297.50, set off. Invited: Bo Lind, Ada Holm and Cy Park."
    )
    assert message.replies[:2] == (
        SentReply("greeting"),
        SentReply("slot", {"day": "2026-03-05", "start": "14:00"}),
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"text": "Hello"}, "the user reads only saved replies"),
        ({"replies": "greeting"}, "the user reads only saved replies"),
        ({"replies": ["greeting"], "text": "and more"}, "the user reads only saved replies"),
        ({"replies": []}, "expected 1 to 8 replies, got 0"),
        ({"replies": ["greeting"] * 9}, "expected 1 to 8 replies, got 9"),
        ({"replies": [7]}, "expected an object with reply = its id, got 7"),
        ({"replies": [{"reply": ["greeting"]}]}, "expected an object with reply = its id"),
        ({"replies": ["greting"]}, "did you mean 'greeting'"),
        ({"replies": [{"reply": "greeting", "text": "and more"}]}, "no field 'text'"),
        ({"replies": ["slot"]}, "day: missing; expected a date"),
        ({"replies": [{"reply": "slot", "day": "3/4/2026", "start": "14:00"}]}, "day: expected"),
        ({"replies": [{"reply": "credit", "amount": 5, "how": "lost"}]}, "how: expected one of"),
        ({"replies": [{"reply": "invited", "people": "x" * 300}]}, "people: expected"),
    ],
)
def test_what_is_no_message_is_refused_with_what_to_write(arguments, complaint):
    with pytest.raises(ActionError, match="not sent") as refused:
        read_message(REPLIES, arguments)
    assert complaint in str(refused.value)


def test_the_schema_names_every_reply_with_its_sentence():
    schema = replies_schema(REPLIES)
    items = schema["properties"]["replies"]["items"]["anyOf"]
    assert [one["properties"]["reply"]["enum"] for one in items] == [[r.id] for r in REPLIES]
    assert items[2]["required"] == ["reply", "day", "start"]
    assert '"You have {day}, from {start}."' in items[2]["description"]


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        ({"say": "On {day}."}, "expected each field once in braces: none; got day"),
        ({"say": "Hello.", "field": [field("day", "date")]}, "expected each field once"),
        ({"say": "{a} {a}", "field": [field("a", "time")]}, "expected each field once"),
        ({"say": "{reply}", "field": [field("reply", "time")]}, "expected another name"),
        ({"say": "{a}", "field": [field("a", "time", optional=True)]}, "cannot be optional"),
        ({"say": "Hello {{case.name}}."}, "without slots"),
    ],
)
def test_a_reply_that_is_wrong_in_itself_is_refused(reply, complaint):
    with pytest.raises(ValidationError, match=complaint.replace("{", r"\{")):
        SavedReply.model_validate_json(json.dumps({"id": "x", **reply}))
