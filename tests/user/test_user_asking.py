"""What a message asks for, as people and models write it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.task.user import compile_pattern
from agentgym.user.asking import read

ORDER = (compile_pattern(r"order (number|no\b|id)"),)
EMAIL = (compile_pattern("e-?mail"),)


@pytest.mark.parametrize(
    "message",
    [
        "What's your order number?",
        "What’s your order\nnumber ?",
        "Could you please share your Order Number so I can look it up.",
        "I'll need the order number and your e-mail to continue.",
        "Thanks for reaching out! To help, please provide:\n\n- your full name\n- the order id",
        "To verify you, I need the following:\n1. Email\n2. **Order number**",
        "Order number please.",
        "Which order? I need the order no before I can do anything.",
        "May I have your order number",
        "I don't see it. Confirm the order number.",
        "Your email and **order** number are required to go on.",
        "I'd appreciate it if you could send me your order number.",
        "Just reply with the order number.",
        "That order number is not one of ours. Could you double-check it, please?",
    ],
)
def test_a_request_is_heard_however_it_is_put(message):
    assert read(message).asks(ORDER)


@pytest.mark.parametrize(
    ("message", "pattern"),
    [
        ("Könnten Sie mir bitte die Bestellnummer nennen", "bestellnummer"),
        ("Wie lautet Ihre Bestellnummer", "bestellnummer"),
        ("Pourriez-vous m'indiquer votre numéro de commande", "numéro de commande"),
        ("Veuillez me donner le numéro de commande.", "numéro de commande"),
        ("¿Cuál es su número de pedido?", "número de pedido"),
        ("Por favor, indique el número de pedido.", "número de pedido"),
    ],
)
def test_other_languages_ask_too(message, pattern):
    assert read(message).asks([compile_pattern(pattern)])


@pytest.mark.parametrize(
    "message",
    [
        "I have found your order number, and the refund is on its way.",
        "Your order number 17 was refunded. Is there anything else?",
        "We ship every order on Mondays.",
        "I have noted the order number. Could you confirm that you are at home?",
        "I checked the order number you gave me and sent an email.",
    ],
)
def test_to_mention_is_not_to_ask(message):
    assert not read(message).asks(ORDER)


def test_a_list_that_is_no_request_asks_for_nothing():
    assert not read("Here is what I did:\n- email sent\n- order number noted").asks(EMAIL)


def test_questions_of_yes_and_no_are_told_from_open_ones():
    assert read("What is your shoe size?").asks_openly
    assert not read("Shall I go ahead?").asks_openly
    assert not read("It is done.").asks_openly


@given(st.text(max_size=300))
def test_any_text_can_be_read(text):
    message = read(text)
    assert all(part.strip() == part for part in message.asking)
    assert read(text) == message


def test_marks_on_one_letter_are_read_up_to_a_number_of_them():
    pile = "a" + "\u0301\u0323" * 3_999
    assert len(read(pile).text) < 40
    assert read(f"{pile[:5_000]} What is your order number?").asks(ORDER)
