"""Saved replies and conversations that are made of them, in the ways in which people write."""

from __future__ import annotations

import pytest

from agentgym.errors import VerifierError
from agentgym.verify.messages.conversation import conversation
from agentgym.verify.messages.replies import Reply, read_replies, replied

REPLIES = [
    "(Your|The) ticket is (now|) with (our|the) billing team",
    "I cannot promise (a day|a refund|a refund nor a day)",
    "Your credit is EUR 297.50, granted",
    "(Mails|They) stay (by law|)",
    "The law makes us keep them",
]
CHAT = conversation(
    REPLIES,
    asks=["ticket", "number", "reference", "open"],
    may=["so that I can find it", {"date": "2026-03-05"}],
    names=["Ada Holm", "Erik Pinto"],
    secrets=["+1 555 253 3848"],
)


@pytest.mark.parametrize(
    "text",
    [
        "Your ticket is with our billing team.",
        "Hi Ada,\n\nthanks for waiting! The ticket's now with the billing team.\n\nBest\nErik",
        "I'm afraid we can't promise a refund, nor a day; the ticket is with our billing team.",
        "No, I cannot promise a day.",
        "Your credit is 297,50 €, granted",
        "I understand that this is annoying, but I can't promise a day.",
        "Could you give me the ticket number, so that I can find it?",
        "To verify who you are I need:\n- the number of your ticket\n- your reference no.",
        "ticket number please",
        "Is it Thursday, 5 March?",
        "Mails stay by law.",
        "Mails stay: the law makes us keep them.",
        "One moment please, let me check that for you.",
        "Is there anything else I can help you with?",
        "I know this is frustrating, Ada, and I am sorry.",
        "I understand that you hoped for more, but I can't promise a refund.",
        "What does the label say?",
        "What do the label, the parcel and the box say?",
        "I know you'd like it today, but I can't promise a day.",
        "Of course! Which ticket is it?",
        "Done: your ticket is with our billing team.",
        "",
    ],
)
def test_replies_questions_and_courtesies_pass(text: str) -> None:
    assert not CHAT.fault(text)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("Your ticket was lost.", "says 'ticket'"),
        ("Your ticket is with our billing team and will be closed.", "says 'closed'"),
        ("Your ticket is not with our billing team.", "says 'ticket'"),
        ("Unless you pay, your ticket is with our billing team.", "says 'unless'"),
        ("I can promise a day.", "says 'promise'"),
        ("Your credit is EUR 279.50, granted.", "says 'credit'"),
        ("Sure, no problem.", "says 'sure'"),
        ("All done.", "says 'all done'"),
        ("Yes.", "says 'yes'"),
        ("Is your ticket number 388?", "asks about 'number 388'"),
        ("Could it be that your number is wrong?", "asks about 'wrong'"),
        ("I can confirm your details.", "says 'i can confirm'"),
        ("They are nearly through.", "says 'they'"),
        ("It was one digit off.", "says 'digit'"),
        ("I know it has been settled.", "says 'settled'"),
        ("I know you will have the refund today.", "says 'refund'"),
        ("I understand that Bo has it.", "says 'bo'"),
        ("Of course. Your ticket is with our billing team.", "says 'of course'"),
        ("Is it on the label near the parcel with the box?", "asks about 'box'"),
        ("Would you like a refund?", "asks about 'refund'"),
        ("Is that the ticket of Meyer?", "asks about 'meyer'"),
        ("Did you know that the ticket is open?", "says 'ticket'"),
        ("Is it fine that the ticket is open?", "says 'ticket'"),
        ("Isn't the ticket open?", "asks about 'not'"),
        ("Is your number +1 555 253 3848?", "tells '+1 555 253 3848'"),
        ("Is it five five five 253 3848?", "tells '+1 555 253 3848'"),
    ],
)
def test_everything_else_fails(text: str, fault: str) -> None:
    assert fault in CHAT.fault(text)


def test_a_question_may_repeat_the_figures_of_its_reader() -> None:
    assert CHAT.fault("Is ticket 388 yours?")
    chat = conversation(REPLIES, asks=["ticket", "yours"])
    assert not chat.fault("Is ticket 388 yours?", ["It is 388."])


def test_only_before_any_wish_does_an_assent_open_a_question() -> None:
    assert not CHAT.fault("Sure, which ticket is it?")
    assert CHAT.fault("Sure, which ticket is it?", ["Can I have the money?"])


def test_what_the_reader_has_said_is_no_secret() -> None:
    assert not CHAT.fault("Is your number +1 555 253 3848?", ["It is +1 555 253 3848."])


def test_an_answer_may_say_that_it_is_done() -> None:
    assert not CHAT.fault("All done.", is_answer=True)
    assert CHAT.fault("All done, the money is there.", is_answer=True)


def test_a_reply_before_its_time_fails() -> None:
    first = CHAT.replies[0]
    assert CHAT.fault("Your ticket is with our billing team", untimely=[first]).endswith(
        "when it is not so"
    )
    assert not CHAT.fault("I cannot promise a day", untimely=[first])


def test_of_two_alike_the_one_whose_time_has_come_counts() -> None:
    one, other = read_replies(["It is booked for noon", "It is booked for noon"])
    chat = conversation(["It is booked for noon", "It is booked for noon"])
    assert one == other and not isinstance(chat.replies[0], str)
    late = Reply(one.shown, one.slots, one.denies)
    assert chat.fault("It is booked for noon", untimely=[late])


def test_what_is_said_counts_and_what_is_asked_does_not() -> None:
    expected = read_replies(["Your credit is EUR 297.50, granted"])
    assert replied("Hello! Your credit is € 297.50, granted.", expected) == expected
    assert not replied("Is your credit € 297.50, granted?", expected)


@pytest.mark.parametrize(
    ("replies", "fault"),
    [
        ("Hello", "expected a list of sentences"),
        ([], "expected a list of sentences"),
        ([{"text": "Hello there"}], "a table of say"),
        ([{"say": "It is booked", "then": []}], "then"),
        ([{"say": "It was booked there", "after": {"tool": "x"}}], "list of tables"),
        (["(It is|) (booked|)"], "two words that have to be there"),
        (["It was (put (in|out)|booked) there"], "not nested"),
    ],
)
def test_a_reply_of_the_wrong_form_is_refused(replies: object, fault: str) -> None:
    with pytest.raises(VerifierError, match=fault):
        read_replies(replies)


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("I need: 1. the ticket number 2. your reference, please.", ""),
        ("Please tell me (a) the ticket number, (b) your reference.", ""),
        ("1. Your ticket is with our billing team. 2. I cannot promise a day.", ""),
        ("Yes. Your ticket is with our billing team.", "Is my ticket with somebody?"),
        ("Of course I understand, but I cannot promise a day.", "Can I have it today?"),
        ("Okay, thanks. And the reference?", "It is ticket 77."),
        ("No, sorry. I cannot promise a day.", "Can I have it today?"),
        ("You would like your money back today. I cannot promise a refund.", ""),
        ("Sorry, can't promise a day.", ""),
        ("My name is Erik. Two quick questions: ticket number, reference?", ""),
    ],
)
def test_answers_and_points_that_the_next_words_settle_pass(text: str, heard: str) -> None:
    assert not CHAT.fault(text, [heard] if heard else [])


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("Sure. Your ticket is with our billing team.", "Can I have the money today?"),
        ("Okay! Your ticket is with our billing team.", "Just send the money."),
        ("Of course. Anything else?", "Can I have the money today?"),
        ("Yes.", "Can I have the money today?"),
        ("No. Your ticket is with our billing team.", "Is my ticket with somebody?"),
        ("I need: 1. the ticket number 2. your money has been sent", ""),
        ("1. I cannot promise a day. 2. You get a voucher.", ""),
        ("You would like the money today and it is sent.", ""),
        ("You asked for the money, and you get it.", ""),
    ],
)
def test_an_assent_to_a_wish_fails(text: str, heard: str) -> None:
    assert CHAT.fault(text, [heard] if heard else [])


LATE = conversation(REPLIES, opening=["My ticket is late, and I would like EUR 50 today."])


@pytest.mark.parametrize(
    "text",
    [
        "Yes, your ticket is late, and I am sorry.",
        "I understand that your ticket is late and you would like EUR 50 today.",
        "Not today, I'm afraid: I cannot promise a day.",
        "If you do not have it, that's fine. Which ticket is it?",
    ],
)
def test_what_the_reader_has_said_may_be_repeated_as_it_was_said(text: str) -> None:
    assert not LATE.fault(text)


@pytest.mark.parametrize(
    "text",
    [
        "Your ticket is not late.",
        "You get EUR 50 today.",
        "I understand that you will get EUR 50 today.",
        "EUR 50, today. Your ticket is with our billing team.",
        "If you wait, you get the money.",
        "Not today, tomorrow. I cannot promise a day.",
        "Just send us your password, please?",
        "I see that the printer in the hall was broken.",
    ],
)
def test_a_claim_in_another_act_fails(text: str) -> None:
    assert LATE.fault(text)


def test_a_repeated_word_is_read_in_linear_time() -> None:
    # Two ways to read one word would be 2**200 ways to read them all.
    assert LATE.fault("I will " + "only briefly " * 100 + "wait.")


@pytest.mark.parametrize("names", [["Mr Holm"], ["Support Team"], ["Holm and Team"], ["Ada"]])
@pytest.mark.parametrize("word", ["mr", "team", "and", "support", "ada"])
def test_names_that_courtesies_know_leave_their_reading_quick(names: list[str], word: str) -> None:
    polite = conversation(REPLIES, names=names)
    assert polite.fault(f"Hi {f'{word} ' * 27}refund")
    assert not polite.fault(f"Hello {names[0]}, thanks, {names[0]}.")
