"""Chat templates of vision-language models show pictures where the templates themselves do."""

from __future__ import annotations

import importlib.util
import json

import numpy as np
import pytest

pytest.importorskip("torch", reason="training")
if importlib.util.find_spec("transformers") is None:
    pytest.skip("a vision-language model needs transformers", allow_module_level=True)

from picture_models import (
    BRIEFING,
    LLAVA_FIRST,
    LOOK,
    TOOLS,
    make_picture_tokenizer,
    make_world,
    picture,
)

from agentgym.agents.dialogue import opening
from agentgym.chat.picture import picture_part
from agentgym.errors import ConfigError
from agentgym.records import Observation
from agentgym.train.templates.pictures import PictureTemplate

RED = np.full((28, 28, 3), (255, 0, 0), np.uint8)


def native(tokenizer, model, messages, tools, pictures):
    """The tokens of messages whose contents are parts, as transformers itself makes them."""
    table = model.pictures
    text = tokenizer.apply_chat_template(
        messages, tools=tools, tokenize=False, add_generation_prompt=True
    )
    ids = tokenizer(text, add_special_tokens=False)["input_ids"]
    counts = iter([table.count(each) for each in pictures])
    placeholder = table.placeholder
    return [n for t in ids for n in ([t] * next(counts) if t == placeholder else [t])]


@pytest.mark.parametrize("family", ["qwen2_vl", "qwen3_vl"])
def test_dialogues_are_those_that_the_chat_template_writes_itself(family):
    tokenizer, model, template = make_world(family)
    tools = [json.loads(json.dumps(tool.to_openai(), default=dict)) for tool in TOOLS]
    one, other = picture(30, 90), picture(56, 28)
    begun = template.opening(BRIEFING, Observation("", one), TOOLS)
    messages = opening(BRIEFING, None, picture_part)
    parts = [{"type": "text", "text": messages[-1]["content"]}, {"type": "image"}]
    messages = [*messages[:-1], {"role": "user", "content": parts}]
    if family == "qwen3_vl":  # The other template shows no tools; they are in the system prompt.
        assert begun == native(tokenizer, model, messages, tools, [one])
    else:
        rest = native(tokenizer, model, messages[1:], None, [one])
        (start,) = tokenizer.encode("<|im_start|>")
        place = len(begun) - begun[::-1].index(start) - 1  # the assistant's turn
        place -= begun[:place][::-1].index(start) + 1
        assert begun[place:] == rest[rest.index(start, 1) :]
    after = template.following(Observation("seen", other), stopped=True)
    result = [{"type": "text", "text": "seen"}, {"type": "image"}]
    if family == "qwen3_vl":
        call = {"type": "function", "function": {"name": "look", "arguments": {}}}
        turn = {"role": "assistant", "content": "", "tool_calls": [call]}
        answer = {"role": "tool", "content": result}
        whole = native(tokenizer, model, [*messages, turn, answer], tools, [one, other])
    else:
        result[0]["text"] = "<tool_response>\nseen"
        result.append({"type": "text", "text": "\n</tool_response>"})
        turn = {"role": "assistant", "content": LOOK}
        answer = {"role": "user", "content": result}
        whole = native(tokenizer, model, [*messages, turn, answer], None, [one, other])
    assert whole[-len(after) :] == after


def test_a_template_that_shows_pictures_first_gets_them_first(tokenizer_of_llava):
    tokenizer = tokenizer_of_llava
    (placeholder,) = tokenizer.encode("<picture>")
    template = PictureTemplate(tokenizer, placeholder, lambda picture: 3)
    text = tokenizer.decode(template.opening(BRIEFING, Observation("", RED), TOOLS))
    assert "<user>" + "<picture>" * 3 + "\n" in text
    assert text.count("<picture>") == 3


@pytest.fixture
def tokenizer_of_llava():
    tokenizer = make_picture_tokenizer("llava")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<picture>", "</s>"]})
    tokenizer.chat_template = LLAVA_FIRST
    return tokenizer


@pytest.mark.parametrize("family", ["llava", "qwen2_vl"])
def test_a_placeholder_that_texts_could_spell_is_refused(family):
    tokenizer = make_picture_tokenizer(family)
    with pytest.raises(ConfigError, match="is no special token"):
        PictureTemplate(tokenizer, tokenizer.encode("a")[0], lambda picture: 1)
