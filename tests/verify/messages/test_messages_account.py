"""Everything a message says is accounted for, and it says what it has to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.verify.messages.account import Account, account
from agentgym.verify.messages.disguise import leak
from agentgym.verify.messages.plain import MOST_CHARS, plain
from agentgym.verify.messages.readers import says
from agentgym.verify.messages.units import read_message, stem
from agentgym.verify.messages.words import words

LETTER = (
    "Dear Rosa Vogel,\n\nyour contract for Rosterboard ends on 13 May 2026. Our prices stay as they"
    " are, and Emil Lam will be in touch with you about what comes then.\n\nErik Pinto"
)


@pytest.fixture(scope="module")
def letter() -> Account:
    return account(template=LETTER, names=["Rosa Vogel", "Erik Pinto", "Fairlead Software"])


@pytest.mark.parametrize(
    "text",
    [
        LETTER,
        LETTER.replace("13 May 2026", "May 13th"),
        LETTER.replace(". Our", "; our").replace("Dear", "Hello"),
        LETTER.replace("as they are, and Emil", "as they are. Emil"),
        f"**{LETTER.upper()}**",
        LETTER.replace("\n\nErik Pinto", " Have a nice day!\n\nBest regards\nErik"),
        "Hi Rosa! Emil Lam will be in touch with you about what comes then.",
    ][:6],
)
def test_a_template_in_other_clothes_passes(letter: Account, text: str) -> None:
    assert letter.review(text).fault == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("stay as they are", "go up by 40 percent"),
        ("stay as they are", "do not stay as they are"),
        ("13 May", "14 May"),
        ("Emil Lam", "Gita Nguyen"),
        ("Rosa Vogel", "Tomas Nakamura"),
        ("comes then.", "comes then. You need not sign anything."),
        ("comes then.", "comes then. Call +49 30 1234567."),
        ("comes then.", "comes then, if you are still a customer."),
        ("Erik Pinto", "PS: prices will rise soon."),
        ("your contract for Rosterboard ends on 13 May 2026. ", ""),
    ],
)
def test_a_template_with_something_else_in_it_fails(letter: Account, old: str, new: str) -> None:
    assert letter.review(LETTER.replace(old, new)).fault


@given(st.data())
def test_a_template_without_any_of_its_heavy_words_fails(data: st.DataObject) -> None:
    letter = account(template=LETTER, names=["Rosa Vogel", "Erik Pinto"])
    body = LETTER.split("\n\n")[1]
    heavy = [
        token.text
        for token in read_message(body).tokens()
        if token.figure is not None or token.stem not in words().light
    ]
    lost = data.draw(st.sampled_from(heavy))
    assert letter.review(body.lower().replace(lost, "", 1)).fault


@given(
    st.lists(
        st.from_regex(r"[bcdfgklmnprtvz]{2}[aeiou]{2}[bcdfgklmprtvz]{2}", fullmatch=True),
        min_size=1,
    )
)
def test_what_is_put_behind_a_template_is_seen(letter: Account, more: list[str]) -> None:
    assert letter.review(f"{LETTER}\n\n{' '.join(more)}").fault


FACTS: Mapping[str, Any] = {
    "facts_": [
        {"about": {"name": "Farid Aziz"}, "is": 13, "not": [21]},
        {"about": {"name": "Farid Aziz"}, "is": 14},
        {"about": {"name": "Elif Kaya"}, "is": 21, "not": [13, 14]},
    ],
    "topics": ["tickets"],
    "words_": ["gets", "goes"],
}


@pytest.mark.parametrize(
    "text",
    [
        "Farid Aziz: 13, 14; Elif Kaya: 21",
        "Farid gets tickets #13 and #14, Ms Kaya gets no. 21.",
        "13 and 14: Farid, 21: Elif",
        "Farid:\n- 13\n- 14\n\nElif:\n- 21",
        "- ticket 21 goes to Elif\n- ticket 13 goes to Farid\n- ticket 14 goes to Farid",
    ],
)
def test_values_belong_to_the_subjects_they_stand_with(text: str) -> None:
    assert account(**FACTS).review(text).fault == ""


@pytest.mark.parametrize(
    "text",
    [
        "Farid Aziz: 21; Elif Kaya: 13, 14",
        "Farid and Elif: 13, 14 and 21",
        "Farid gets 13 and 14, Elif does not get 21.",
        "Farid gets 13 and 14. Does Elif get 21?",
        "Farid gets 13 and 14, Elif gets 21 and 22.",
        "Farid gets 13, Elif gets 21.",
        "13, 14, 21",
        "Elif:\n- 13\n- 14\n\nFarid:\n- 21",
    ],
)
def test_values_of_others_fail(text: str) -> None:
    assert account(**FACTS).review(text).fault


def test_a_contrast_names_what_is_not_so() -> None:
    meets = account(
        facts_=[
            {"about": {"date": "2026-03-10"}, "is": {"time": "15:00"}, "not": [{"time": "16:00"}]}
        ],
        topics=["calendar"],
    )
    assert meets.review("On 10 March we meet at 15:00 instead of 16:00.").fault == ""
    assert meets.review("On 10 March we meet at 16:00 instead of 15:00.").fault
    assert meets.review("On 10 March we meet at 16:00.").fault


FORM: Mapping[str, Any] = {
    "form": {"Invoice | Invoice no.": "INV-118", "Amount": {"amount": 1240.5}}
}


@pytest.mark.parametrize(
    "text",
    [
        "Invoice: INV-118\nAmount: EUR 1,240.50",
        "- **Amount:** 1.240,50 €\n- **Invoice no.:** INV 118",
        "Invoice: INV 1-18\nAmount: EUR 1,240.50",
        "invoice: inv-118; amount: 1240.50",
        "Amount:\nEUR 1240.5\nInvoice:\nINV-118",
    ],
)
def test_a_form_is_read_in_any_order(text: str) -> None:
    assert account(**FORM).review(text).fault == ""


@pytest.mark.parametrize(
    "text",
    [
        "Invoice: INV-119\nAmount: EUR 1,240.50",
        "Invoice: INV-118\nAmount: EUR 1,240.50\nPromised: a refund",
        "Invoice: INV-118 or INV-119\nAmount: EUR 1,240.50",
        "Invoice: INV-118\nAmount: not EUR 1,240.50",
        "Invoice: INV-118",
        "Invoice: INV-118\nAmount: USD 1,240.50",
    ],
)
def test_a_form_with_anything_else_fails(text: str) -> None:
    assert account(**FORM).review(text).fault


@given(st.text(max_size=400))
def test_any_text_is_reviewed(text: str) -> None:
    account(**FACTS, **FORM).review(text)


@given(st.sampled_from(["move", "cancel", "plan", "carry", "close", "assign", "share", "delete"]))
def test_forms_of_a_word_have_one_stem(word: str) -> None:
    base = word.removesuffix("e")
    past = {"cancel": "cancelled", "plan": "planned", "carry": "carried"}.get(word, f"{base}ed")
    assert stem(past) == stem(word)


def test_the_lists_hold_words_and_no_figures() -> None:
    lists = words()
    for phrases in lists.commitments.values():
        assert all(t.figure is None for p in phrases for t in read_message(p).tokens())
        assert len(set(phrases)) == len(phrases)


def test_an_address_is_not_split_into_sentences() -> None:
    reader = account(facts_=["anna.wrona@haldenrail.example"], words_=["address"])
    assert not reader.review("1. Address (anna.wrona@haldenrail.example)").fault
    assert reader.review("1. Address (anna.wrong@haldenrail.example)").fault


@pytest.mark.parametrize(
    "text", ["priya.haugen@redwood-insurance.example", "Pitch.docx", "redwood.example"]
)
def test_an_address_or_a_file_is_no_two_sentences(text: str) -> None:
    assert [unit.text for unit in read_message(f"It is {text}. Thank you.").units] == [
        f"it is {text.casefold()}.",
        "thank you.",
    ]


def test_a_template_is_no_question() -> None:
    promised = account(template="Katrin has promised an answer.", names=["Katrin"])
    assert not promised.review("Katrin has promised an answer.").fault
    assert promised.review("Has Katrin promised an answer?").fault


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("I am happy to confirm your visit.", False),
        ("We confirm that it is off.", False),
        ("Please confirm your address.", True),
        ("I need you to confirm your address.", True),
        ("To go on, confirm your address.", True),
    ],
)
def test_who_confirms_does_not_ask(text: str, asks: bool) -> None:
    assert [unit.asks for unit in read_message(text).units] == [asks]


def test_a_label_may_be_a_light_word() -> None:
    form = account(form={"Was": 60, "Now": 85})
    assert not form.review("Was: 60\nNow: 85").fault
    assert form.review("Was: 85\nNow: 60").fault


def test_a_subject_is_read_only_up_to_a_length() -> None:
    letter = says(facts=[42], subject="Reminder")
    assert not letter.review("42", "Reminder").fault
    assert letter.review("42", "Reminder" + " and more" * 60).fault == (
        "has a subject of 548 characters, expected at most 500"
    )


def test_a_character_that_stands_for_a_phrase_does_not_make_a_text_long() -> None:
    assert len(plain("\ufdfa" * MOST_CHARS)) <= 4 * MOST_CHARS
    assert account(facts_=[42]).review("42 \ufdfa").excess


@pytest.mark.parametrize("sign", [" at ", "[at]", "( at )", " {AT} ", "\n\nat\n"])
def test_an_address_is_a_secret_however_its_signs_stand(sign: str) -> None:
    assert leak(f"It is priya{sign}redwood dot example.", ["priya@redwood.example"])
    assert not leak(f"It is paula{sign}redmond dot example.", ["priya@redwood.example"])


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("Katrin has promised an answer.", True),
        ("Katrin has promised Bluewater an answer.", True),
        ("Katrin has not promised an answer.", False),
        ("Katrin has promised Bo an answer.", False),
    ],
)
def test_a_word_beside_a_template_licenses_no_denial(text: str, fine: bool) -> None:
    note = account(template="Katrin has promised an answer.", words_=["note", "Bluewater"])
    assert (not note.review(text).fault) is fine


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("7", True),
        ("7 shares: Ada 2, Ben 5", True),
        ("7 shares of Ada and Ben", True),
        ("7, all of which were Ada's", False),
        ("7 of Ada", False),
        ("Ada 5, Ben 2", False),
    ],
)
def test_a_figure_belongs_to_no_other_subject(text: str, fine: bool) -> None:
    taken = account(
        facts_=[7],
        may=[
            {"about": "Ada", "is": 2, "of": "whose"},
            {"about": "Ben", "is": 5, "of": "whose"},
        ],
        words_=["shares"],
    )
    said = taken.review(text)
    assert (not said.excess) is fine


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("Please end the share.", True),
        ("Could you please end the share?", True),
        ("Please do not end the share.", False),
    ],
)
def test_a_request_may_be_a_polite_question(text: str, fine: bool) -> None:
    mail = account(facts_=[{"is": "end the share", "mood": "requested"}])
    assert (not mail.review(text).fault) is fine


@pytest.mark.parametrize(
    ("text", "fine"),
    [
        ("INV-1 was paid twice.", True),
        ("INV-1 was paid twice; Anton has been told.", False),
        ("INV-1 was paid twice, so that you can tell Anton.", True),
        ("INV-1 was refunded.", False),
    ],
)
def test_a_word_licenses_no_deed_in_another_form(text: str, fine: bool) -> None:
    answer = account(facts_=["INV-1"], words_=["paid", "twice", "refund", "Anton", "tell"])
    assert (not answer.review(text).fault) is fine
