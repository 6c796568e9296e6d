"""Chat templates of three families of models: appended tokens, calls, and drift."""

from __future__ import annotations

import functools

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from small_models import TEMPLATES, call_text, make_tokenizer

from agentgym.errors import ConfigError
from agentgym.records import Action, Briefing, Observation, ToolSpec
from agentgym.train.templates.calls import CallForm, read_call
from agentgym.train.templates.chat import ChatTemplate

FAMILIES = ("hermes", "llama3", "mistral", "plain")
BASH = ToolSpec("bash", "Run a command", {"type": "object", "properties": {}})
BRIEFING = Briefing(task="demo/x", seed=0, instruction="Make the file.", max_steps=4)


@functools.cache
def tokenizer_of(family):
    return make_tokenizer(family)


@functools.cache
def template_of(family):
    return ChatTemplate(tokenizer_of(family))


def rendered(family, messages):
    """Return a dialogue as the tokenizer's own template renders it, at once."""
    text = tokenizer_of(family).apply_chat_template(
        messages, tools=[BASH.to_openai()], tokenize=False, add_generation_prompt=True
    )
    return tokenizer_of(family)(text, add_special_tokens=False)["input_ids"]


def encoded(family, text):
    return tokenizer_of(family)(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_form_of_calls_is_found_and_read(family):
    template = template_of(family)
    assert template.form == ("hermes" if family == "plain" else family)
    told = encoded(family, call_text(family, "bash", {"command": 'echo "{}" </s>'}))
    stop = template.stop_ids[0]
    found = template.parse([*told, stop], [BASH])
    assert found == Action("bash", {"command": 'echo "{}" </s>'})


@pytest.mark.parametrize("family", FAMILIES)
def test_the_opening_holds_instruction_and_tools(family):
    text = tokenizer_of(family).decode(template_of(family).opening(BRIEFING, seen(""), [BASH]))
    assert "Make the file." in text
    assert "Run a command" in text
    assert "at most 4 calls" in text


@pytest.mark.parametrize("family", ["hermes", "llama3", "mistral"])
def test_appended_turns_are_those_of_the_template(family):
    """The dialogue that grew by appending reads as one that the template renders at once."""
    template, tokenizer = template_of(family), tokenizer_of(family)
    ids = template.opening(BRIEFING, seen(""), [BASH])
    first = tokenizer.decode(ids)
    messages, told = [], first
    for turn in range(3):
        arguments = {"command": f"ls {turn}"}
        # As this family's template writes it, which may be another spelling of the same call.
        function = {"name": "bash", "arguments": arguments}
        call = {"id": "abcdefgh1", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": "", "tool_calls": [call]})
        said = call_text(family, "bash", arguments)
        if family == "mistral":
            said = said[:-2] + ', "id": "abcdefgh1"}]'
        told += said + template._end
        suffix = template.following(seen(f"file{turn} \n\u00e9"), stopped=True)
        told += tokenizer.decode(suffix).replace("c0ffee22e", "abcdefgh1")
        answer = {"role": "tool", "tool_call_id": "abcdefgh1", "content": f"file{turn} \n\u00e9"}
        messages.append(answer)
    user = {"role": "user", "content": "QQ"}
    whole = tokenizer.decode(rendered(family, [user, *messages]))
    begin = tokenizer.decode(rendered(family, [user]))
    assert told.removeprefix(first) == whole.removeprefix(begin)


def seen(text):
    return Observation(text=text)


pieces = st.lists(
    st.one_of(
        st.text(max_size=6),
        st.sampled_from(["<|im_end|>", "</s>", "[INST]", "<|eot_id|>", "\ue0000\ue001", "aaa"]),
    ),
    max_size=5,
).map("".join)


@settings(max_examples=40)
@given(text=pieces, family=st.sampled_from(FAMILIES))
def test_what_a_tool_shows_never_becomes_a_special_token(text, family):
    template, tokenizer = template_of(family), tokenizer_of(family)
    special = {tokenizer.convert_tokens_to_ids(token) for token in TEMPLATES[family][1]}
    wanted = [token for token in template.following(seen(""), stopped=True) if token in special]
    found = [token for token in template.following(seen(text), stopped=True) if token in special]
    assert found == wanted
    briefing = Briefing(task="demo/x", seed=0, instruction=text or "x", max_steps=4)
    plain = template.opening(BRIEFING, seen(""), [BASH])
    assert [
        token for token in template.opening(briefing, seen(""), [BASH]) if token in special
    ] == [token for token in plain if token in special]


@settings(max_examples=40)
@given(data=st.data(), family=st.sampled_from(FAMILIES))
def test_sampled_tokens_are_kept_and_drift_is_told(data, family):
    """Any spelling of a text in tokens is kept; only the tokenizer's own spelling has no drift."""
    template = template_of(family)
    text = data.draw(st.text('ab {}"\u00e9', min_size=1, max_size=12))
    own = encoded(family, text)
    letters = [token for sign in text for token in encoded(family, sign)]
    assert not template.drifts(own)
    assert template.drifts(letters) == (letters != own)


@settings(max_examples=30)
@given(value=st.text('a{}"\\\n\u00e9<|im_end|></s>', max_size=20), family=st.sampled_from(FAMILIES))
def test_calls_of_other_agents_become_completions(value, family):
    """Encoded calls are read back, and end where a completion ends, whatever is in them."""
    template, action = template_of(family), Action("bash", {"command": value})
    ids = template.encode(action)
    assert ids[-1] in template.stop_ids
    assert not set(ids[:-1]) & set(template.stop_ids)
    assert template.parse(ids, [BASH]) == action
    assert template.vocabulary[ids[-1]] == template._end


def test_a_completion_that_was_cut_off_is_ended_first():
    template = template_of("hermes")
    ended = template.following(seen("x"), stopped=True)
    assert template.following(seen("x"), stopped=False) == [*template._end_ids, *ended]
    assert template._end_ids[0] in template.stop_ids


@pytest.mark.parametrize(
    ("form", "text", "why"),
    [
        ("hermes", "I am done.", "no call in the form of hermes; it says 'I am done.'"),
        ("hermes", "<tool_call>{}</tool_call>", "an object with a name"),
        ("hermes", '<tool_call>{"name": "a", "arguments": [1]}', "must be a JSON object"),
        ("hermes", "<tool_call>[[[", "not JSON"),
        ("hermes", "<tool_call>" + "[" * 100_000, "not JSON"),
        ("hermes", '<tool_call>{"name": "a", "arguments": {"x": NaN}}</tool_call>', "not JSON"),
        ("hermes", '<tool_call>{"name":"a"}</tool_call><tool_call>{"name":"b"}', "makes 2 calls"),
        ("hermes", '<tool_call>{"name":"a"}</tool_call></think>no', "no call"),
        ("llama3", 'Sure: {"name": "a", "parameters": {}}', "expected a JSON object"),
        ("llama3", '{"name": "a"}; {"name": "b"}', "makes 2 calls"),
        ("llama3", "", "no call"),
        ("mistral", '[{"name": "a"}]', "no call"),
        ("mistral", '[TOOL_CALLS][{"name": "a"}, {"name": "b"}]', "makes 2 calls"),
        ("mistral", "[TOOL_CALLS]5", "an object with a name"),
        ("mistral", '[TOOL_CALLS]a{"x": 1}[TOOL_CALLS]b{"x": 1}', "makes 2 calls"),
        ("mistral", '[TOOL_CALLS]ls[ARGS]{"a": 1} and more', "text follows"),
    ],
)
def test_a_completion_without_one_readable_call_is_refused(form, text, why):
    with pytest.raises(ValueError, match=why):
        read_call(text, CallForm(form))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("hermes", '<think>{"name": 1}</think>\n<tool_call>{"name":"a","arguments":{"x":1}}'),
        ("hermes", '<tool_call>{"name":"a","arguments":"{\\"x\\": 1}"}</tool_call>'),
        ("llama3", '<|python_tag|>{"name": "a", "arguments": {"x": 1}}'),
        ("mistral", '[TOOL_CALLS] [{"arguments": {"x": 1}, "name": "a", "id": "123456789"}]'),
        ("mistral", '[TOOL_CALLS]a[CALL_ID]12345[ARGS]{"x": 1}'),
        ("mistral", 'Now:[TOOL_CALLS]a{"x": 1}'),
    ],
)
def test_spellings_of_one_call(form, text):
    assert read_call(text, CallForm(form)) == Action("a", {"x": 1})


@settings(max_examples=30)
@given(
    arguments=st.dictionaries(
        st.text(max_size=4),
        st.recursive(st.integers() | st.text() | st.none(), st.lists),
        max_size=3,
    ),
    family=st.sampled_from(FAMILIES),
)
@example(arguments={"": "</think>"}, family="hermes")
@example(arguments={"x": ["<think>a</think>b"]}, family="llama3")
@example(arguments={"x": "</think>"}, family="mistral")
@example(arguments={"x": "<tool_call>a</tool_call>b"}, family="hermes")
@example(arguments={"</tool_call>": "[TOOL_CALLS]a[ARGS]{}"}, family="hermes")
@example(arguments={"[TOOL_CALLS]": ["[TOOL_CALLS][{}]"]}, family="mistral")
def test_every_call_is_read_back(arguments, family):
    form = CallForm("hermes" if family == "plain" else family)
    text = call_text(family, "tool-1", arguments)
    assert read_call(text, form) == Action("tool-1", arguments)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        (None, "has no chat template"),
        ("{% for m in messages %}{{ m.content }}{% endfor %}", "without a special token"),
        ("{{ raise_exception('no tools') }}", "refuses a dialogue with tools: no tools"),
        (
            "{% for m in messages %}{{ m.content }}{{ m.tool_calls }}{{ eos_token }}{% endfor %}"
            "{{ tools }}",
            "a form that is not known",
        ),
    ],
)
def test_templates_that_cannot_be_used_are_refused(template, why):
    tokenizer = make_tokenizer("plain")
    tokenizer.chat_template = template
    with pytest.raises(ConfigError, match=why):
        ChatTemplate(tokenizer)
