"""What messages do, in many words each; what moves a conversation is never read into others."""

import tomllib
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentgym.records import Intent
from agentgym.task.user import compile_pattern
from agentgym.user.asking import read

PARAPHRASES = tomllib.loads(Path(__file__).with_name("paraphrases.toml").read_text())
NOT = PARAPHRASES.pop("not")
ASKS = PARAPHRASES.pop("asks")
PHONE = [compile_pattern("phone|telephone")]
MOVING = {"doubts", "refuses"}


def test_every_intent_has_thirty_paraphrases():
    assert set(PARAPHRASES) == set(get_args(Intent))
    assert all(len(set(texts)) >= 30 for texts in [ASKS, *PARAPHRASES.values()])


@pytest.mark.parametrize("intent", PARAPHRASES)
def test_an_intent_is_understood_in_other_words(intent):
    heard = {text: read(text).intents for text in PARAPHRASES[intent]}
    assert not [text for text, found in heard.items() if intent not in found]
    wrong = {text: found & (MOVING - {intent}) for text, found in heard.items()}
    assert not {text: found for text, found in wrong.items() if found}


def test_a_question_for_a_fact_is_understood_in_other_words():
    assert not [text for text in ASKS if not read(text).asks(PHONE)]
    assert not [text for text in ASKS if read(text).intents & MOVING]


@pytest.mark.parametrize("intent", NOT)
def test_a_message_that_only_mentions_it_has_another_intent(intent):
    assert not [text for text in NOT[intent] if intent in read(text).intents]


@given(st.text(max_size=400))
def test_any_text_has_intents_or_none(text):
    assert read(text).intents <= set(get_args(Intent))
