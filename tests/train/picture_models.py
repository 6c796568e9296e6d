"""Small vision-language models with random weights, and what belongs to them.

The chat templates are those of Qwen2-VL (which knows no tools) and, shortened, of Qwen3-VL. LLaVA
gets the template of a text model, which knows no pictures.
"""

from __future__ import annotations

import inspect

import numpy as np
import torch
from small_models import HERMES, TEXTS, call_text, make_tokenizer

from agentgym.errors import PolicyError
from agentgym.records import Action, Briefing, Decision, Step, ToolSpec
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.picture_families import open_pictures
from agentgym.train.samples import episode_tokens
from agentgym.train.sampling.sampler import Completion
from agentgym.train.templates.pictures import PictureTemplate

BRIEFING = Briefing("fake/picture-v1", "Look at it.", 0, 10)
TOOLS = (ToolSpec("look", "Look.", {"type": "object", "properties": {}}),)
LOOK = call_text("hermes", "look", {})
PAD = {"llava": "<picture>"}
FAMILIES = ("llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")
CONTEXT = 4096

QWEN2_VL = """\
{% set image_count = namespace(value=0) %}{% set video_count = namespace(value=0) %}\
{% for message in messages %}{% if loop.first and message['role'] != 'system' %}<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif %}<|im_start|>{{ message['role'] }}
{% if message['content'] is string %}{{ message['content'] }}<|im_end|>
{% else %}{% for content in message['content'] %}{% if content['type'] == 'image' or 'image' in \
content or 'image_url' in content %}{% set image_count.value = image_count.value + 1 %}\
{% if add_vision_id %}Picture {{ image_count.value }}: {% endif %}<|vision_start|><|image_pad|>\
<|vision_end|>{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

_PARTS = """\
{%- macro render(content) %}
{%- if content is string %}{{ content }}
{%- else %}
{%- for part in content %}
{%- if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>
{%- else %}{{ part.text }}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- endmacro -%}
"""
QWEN3_VL = _PARTS + HERMES.replace("{{ message.content }}", "{{ render(message.content) }}")

LLAVA_FIRST = """\
{% for message in messages %}<{{ message.role }}>{% if message.content is string %}\
{{ message.content }}{% else %}{% for part in message.content if part.type == 'image' %}<picture>
{% endfor %}{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}\
{% endif %}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"""
"""Shows pictures before texts, as LLaVA 1.5 does."""

_TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2}
_TEXT |= {"num_attention_heads": 2, "max_position_embeddings": 8192}
_ENDS = {"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": None}
_VISION = {
    "qwen2_vl": {"depth": 2, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2},
    "qwen2_5_vl": {
        **{"depth": 2, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 2},
        **{"intermediate_size": 48, "window_size": 56, "fullatt_block_indexes": [1]},
    },
    "qwen3_vl": {
        **{"depth": 3, "hidden_size": 32, "out_hidden_size": 32, "num_heads": 2},
        **{"intermediate_size": 48, "patch_size": 16, "num_position_embeddings": 16},
        "deepstack_visual_indexes": [0, 1],
    },
}
_NAMES = {"qwen2_vl": "Qwen2VL", "qwen2_5_vl": "Qwen2_5_VL", "qwen3_vl": "Qwen3VL"}


def make_picture_tokenizer(family, texts=TEXTS, size=420):
    """Return a tokenizer with the tokens and the chat template of a family."""
    tokenizer = make_tokenizer("hermes", texts, size)
    added = [PAD["llava"]]
    if family != "llava":
        added = ["<|image_pad|>", "<|vision_start|>", "<|vision_end|>", "<|video_pad|>"]
        tokenizer.chat_template = QWEN3_VL if family == "qwen3_vl" else QWEN2_VL
    tokenizer.add_special_tokens({"additional_special_tokens": added})
    return tokenizer


def placeholder_of(family, tokenizer):
    return tokenizer.convert_tokens_to_ids(PAD.get(family, "<|image_pad|>"))


def make_picture_model(family, tokenizer, *, scale=4.0, seed=0):
    """Return a model of transformers; `scale` makes its random weights larger."""
    import transformers

    torch.manual_seed(seed)
    placeholder, size = placeholder_of(family, tokenizer), len(tokenizer)
    if family == "llava":
        vision = {**_TEXT, "image_size": 28, "patch_size": 14, "projection_dim": 32}
        del vision["max_position_embeddings"]
        text = {**_TEXT, "num_key_value_heads": 2, "vocab_size": size, **_ENDS}
        inner = transformers.LlavaForConditionalGeneration(
            transformers.LlavaConfig(
                vision_config=transformers.CLIPVisionConfig(**vision),
                text_config=transformers.LlamaConfig(**text),
                image_token_index=placeholder,
                vision_feature_select_strategy="default",
            )
        )
    else:
        inner = _qwen(transformers, family, tokenizer)
    with torch.no_grad():  # Random towers hardly tell pictures apart.
        for weight in inner.parameters():
            if weight.dim() > 1:
                weight.mul_(scale)
    return inner


def _qwen(transformers, family, tokenizer):
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 3, 3]}
    text = {**_TEXT, "num_key_value_heads": 2, "vocab_size": len(tokenizer), **_ENDS}
    text["rope_parameters"] = rope
    if family == "qwen3_vl":
        text["head_dim"] = 16
    ids = {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<|{token}|>")
        for name, token in (
            *(("image", "image_pad"), ("video", "video_pad")),
            *(("vision_start", "vision_start"), ("vision_end", "vision_end")),
        )
    }
    config = getattr(transformers, f"{_NAMES[family]}Config")(
        text_config=text, vision_config=_VISION[family], tie_word_embeddings=False, **ids
    )
    return getattr(transformers, f"{_NAMES[family]}ForConditionalGeneration")(config)


def make_processor(family, most=16):
    """Return an image processor; pictures have at most so many placeholders if they differ."""
    import transformers

    if family == "llava":
        size = {"height": 28, "width": 28}
        return transformers.CLIPImageProcessorPil(
            size={"shortest_edge": 28}, crop_size=size, do_center_crop=True
        )
    patch = 16 if family == "qwen3_vl" else 14
    return transformers.Qwen2VLImageProcessorPil(
        patch_size=patch,
        size={"shortest_edge": 4 * patch**2, "longest_edge": most * 4 * patch**2},
    )


def save_picture_model(folder, family="qwen2_vl", **options):
    """Write a model, its tokenizer and its image processor as `save_pretrained` does."""
    tokenizer = make_picture_tokenizer(family)
    model = make_picture_model(family, tokenizer, **options)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    for each in (model, tokenizer, make_processor(family)):
        each.save_pretrained(folder)
    return folder


def picture(height, width, seed=0):
    """Return noise."""
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def make_world(family, *, most=16):
    """Return a tokenizer, a model that is tried nowhere, and the template of its dialogues."""
    tokenizer = make_picture_tokenizer(family)
    inner = make_picture_model(family, tokenizer)
    table = open_pictures(inner, make_processor(family, most), family)
    model = HuggingFaceModel(inner, context=CONTEXT, pictures=table)
    return tokenizer, model, PictureTemplate(tokenizer, table.placeholder, table.count)


def own_logits(model, ids, pictures):
    """Return what the model itself says: one dialogue, its own positions, no cache, no packing."""
    table = model.pictures
    plain = torch.tensor([table.plain(ids)])
    inputs = {"mm_token_type_ids": (plain == table.placeholder).int()}
    prepared = [table.layout.prepare(each).inputs for each in pictures]
    for name in prepared[0] if prepared else ():
        inputs[name] = torch.cat([each[name] for each in prepared])
    taken = inspect.signature(model.inner.forward).parameters
    inputs = {name: value for name, value in inputs.items() if name in taken}
    with torch.no_grad():
        return model.inner(input_ids=plain, **inputs, use_cache=False).logits[0].float()


class Spelling:
    """Samples given calls, written with a token for each character; keeps what it was shown.

    With `whole` they have the tokens that the tokenizer gives them.
    """

    def __init__(self, tokenizer, *calls, whole=False):
        self._tokenizer, self._calls, self.read = tokenizer, list(calls), []
        self._whole = whole

    async def generate(self, dialogue, new_ids, *, limit, stop_ids, temperature, seed):
        self.read.append(list(new_ids))
        told = self._calls.pop(0)
        parts = [told] if self._whole else told
        ids = [token for part in parts for token in self._tokenizer.encode(part)]
        ids.append(stop_ids[0])
        self.dialogue = dialogue
        dialogue.ids += [*new_ids, *ids]
        return Completion(tuple(ids), (-0.5,) * len(ids), "stop", 0)

    def end(self, dialogue):
        pass


async def play(policy, observations, taken=()):
    """Let a policy act on observations; return the steps as a run would have them.

    Args:
        policy: It plays.
        observations: What it sees before each of its steps, those of `taken` included.
        taken: Steps that were taken before.
    """
    steps = list(taken)
    for index in range(len(steps), len(observations)):
        try:
            decision = await policy.act(observations[index], TOOLS, steps)
        except PolicyError as error:
            decision = Decision(Action("look", {}), generations=error.generations)
        following = observations[min(index + 1, len(observations) - 1)]
        steps.append(Step(index, decision, following))
    return steps


def tokens_of(steps):
    return episode_tokens(enumerate(g for step in steps for g in step.decision.generations))
