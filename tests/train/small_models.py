"""Small models of transformers with random weights, and tokenizers trained on the spot.

The chat templates write dialogues and calls in the forms of three families. The tokenizers are no
bijections: a text that was sampled token by token is encoded with longer tokens.
"""

from __future__ import annotations

import json

HERMES = """\
{%- if tools %}<|im_start|>system
{% if messages[0].role == 'system' %}{{ messages[0].content }}

{% endif %}Tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% elif messages[0].role == 'system' %}<|im_start|>system
{{ messages[0].content }}<|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == 'user' %}<|im_start|>user
{{ message.content }}<|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

LLAMA3 = """\
{{- bos_token }}
{%- for message in messages %}
{%- if message.tool_calls %}<|start_header_id|>assistant<|end_header_id|>

{% set call = message.tool_calls[0].function -%}
{"name": "{{ call.name }}", "parameters": {{ call.arguments | tojson }}}<|eot_id|>
{%- elif message.role == 'tool' %}<|start_header_id|>ipython<|end_header_id|>

{{ message.content | tojson }}<|eot_id|>
{%- else %}<|start_header_id|>{{ message.role }}<|end_header_id|>

{% if tools and message.role == 'user' %}{% for tool in tools %}{{ tool | tojson }}

{% endfor %}{% endif %}{{ message.content }}<|eot_id|>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""

MISTRAL = """\
{{- bos_token }}
{%- for message in messages %}
{%- if message.role == 'user' %}
{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif -%}
[INST]{{ message.content }}[/INST]
{%- elif message.role == 'system' %}{{ raise_exception('no system role') }}
{%- elif message.role == 'tool' %}
{%- if message.tool_call_id | length != 9 %}{{ raise_exception('ids have 9 signs') }}{% endif -%}
[TOOL_RESULTS]{"content": {{ message.content | tojson }}
{%- set call_id = message.tool_call_id %}, "call_id": {{ call_id | tojson }}}
{%- if true %}[/TOOL_RESULTS]{% endif %}
{%- elif message.tool_calls %}[TOOL_CALLS][
{%- for call in message.tool_calls -%}
{% set call_id = call.id | tojson -%}
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}
{%- if call_id %}, "id": {{ call_id }}}{% endif %}
{%- endfor %}]{{ eos_token }}
{%- else %}{{ message.content }}{{ eos_token }}
{%- endif %}
{%- endfor %}"""

PLAIN = """\
{%- for message in messages %}<{{ message.role }}>{{ message.content }}</s>{% endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}"""

TEMPLATES = {
    "hermes": (HERMES, ("<|im_end|>", "<|im_start|>")),
    "llama3": (
        LLAMA3,
        ("<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>"),
    ),
    "mistral": (
        MISTRAL,
        (
            *("</s>", "<s>", "[INST]", "[/INST]", "[TOOL_CALLS]", "[TOOL_RESULTS]"),
            *("[/TOOL_RESULTS]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
        ),
    ),
    "plain": (PLAIN, ("</s>", "<s>")),
}

TEXTS = (
    'You work through tools. {"type": "function", "function": {"name": "bash", "description": '
    '"Run a command", "parameters": {"type": "object", "properties": {"command": {"type": "string"}'
    '}, "required": ["command"]}}} {"name": "submit", "arguments": {}} aaaa ababab  \n\n',
)


def make_tokenizer(family="hermes", texts=TEXTS, size=420):
    """Return a byte-pair tokenizer with the chat template of a family."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    template, special = TEMPLATES[family]
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    trained.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=list(special),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    trained.train_from_iterator(texts, trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=trained, eos_token=special[0], bos_token=special[1]
    )
    made.chat_template = template
    return made


def make_config(kind, vocabulary=64):
    """Return the configuration of a model with two narrow layers."""
    import transformers

    common = {"vocab_size": vocabulary, "num_hidden_layers": 2, "num_attention_heads": 4}
    ends = {"bos_token_id": 1, "eos_token_id": 0, "pad_token_id": None}
    shape = {"hidden_size": 32, "intermediate_size": 48, "max_position_embeddings": 2048}
    options = {
        "llama": ("LlamaConfig", {**common, **shape, "num_key_value_heads": 2}),
        "qwen3": ("Qwen3Config", {**common, **shape, "num_key_value_heads": 2, "head_dim": 8}),
        "mistral": (
            "MistralConfig",
            {**common, **shape, "num_key_value_heads": 2, "sliding_window": 32},
        ),
        "gpt2": (
            "GPT2Config",
            {"vocab_size": vocabulary, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512},
        ),
        "opt": (
            "OPTConfig",
            {**common, "hidden_size": 32, "ffn_dim": 48, "word_embed_proj_dim": 32},
        ),
        "bloom": ("BloomConfig", {"vocab_size": vocabulary, "hidden_size": 32, "n_layer": 2}),
        "mamba": ("MambaConfig", {"vocab_size": vocabulary, "hidden_size": 32, "state_size": 4}),
    }
    name, chosen = options[kind]
    return getattr(transformers, name)(**chosen, **ends)


def make_model(kind, vocabulary=64, scale=1.0, seed=0):
    """Return a model of transformers; `scale` makes its random weights larger."""
    import torch
    from transformers import AutoModelForCausalLM

    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(make_config(kind, vocabulary))
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.mul_(scale)
    return model


def save(folder, kind="qwen3", family="hermes", tokenizer=None, **options):
    """Write a model and its tokenizer as `save_pretrained` does; returns the folder."""
    tokenizer = tokenizer or make_tokenizer(family)
    model = make_model(kind, len(tokenizer), **options)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def call_text(family, name, arguments):
    """Return the text of a call as models of a family write it."""
    told = json.dumps(arguments)
    return {
        "hermes": f'<tool_call>\n{{"name": "{name}", "arguments": {told}}}\n</tool_call>',
        "plain": f'<tool_call>\n{{"name": "{name}", "arguments": {told}}}\n</tool_call>',
        "llama3": f'{{"name": "{name}", "parameters": {told}}}',
        "mistral": f'[TOOL_CALLS][{{"name": "{name}", "arguments": {told}}}]',
    }[family]
