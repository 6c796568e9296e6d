"""The chat template of a model's own tokenizer, as appended tokens.

Sampled tokens stay as they are. What follows them is found by rendering a small dialogue with the
same template and taking the text after the token that ends the assistant's turn. A template that
would render earlier turns differently later on (without thoughts, say) is not asked to.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from os.path import commonprefix
from typing import Any, Final

from agentgym.agents.dialogue import opening
from agentgym.chat.picture import picture_part
from agentgym.chat.toolcalls import ChatMessage
from agentgym.errors import ConfigError, pass_interruptions
from agentgym.records import Action, Briefing, Json, Observation, ToolSpec
from agentgym.train.templates.calls import CallForm, read_call
from agentgym.train.templates.rendering import RENDERER, RenderError

_ARGUMENT: Final = "c0ffee11d"
_CALL_ID: Final = "c0ffee22e"
"""Nine letters and digits, as Mistral's templates want."""
_TRIAL: Final = ToolSpec("trial_tool", "A tool.", {"type": "object", "properties": {}})
_TRIAL_CALL: Final[Mapping[str, Json]] = {
    "tool": _TRIAL.name,
    "arguments": {"argument": _ARGUMENT},
}
_MOST_CHARS: Final = 1 << 20
_SHIELD: Final = re.compile("\ue000(\\d+)\ue001")
_TOOLS: Final = """

You may call one of these tools:
{tools}
To call one, write its name and arguments as JSON within tags:
<tool_call>
{{"name": "NAME", "arguments": {{...}}}}
</tool_call>"""


class ChatTemplate:
    """See the module; a `DialogueTemplate`.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        form: The form of tool calls; None finds out which form the template writes.
        stop_ids: Tokens that end a completion, beside those that the template ends turns with.

    Raises:
        ConfigError: The template cannot be used; the message says why.

    Attributes:
        form: The form of tool calls.
    """

    def __init__(
        self, tokenizer: Any, *, form: CallForm | None = None, stop_ids: Iterable[int] = ()
    ) -> None:
        self._tokenizer, self._turn = tokenizer, threading.Lock()
        if not tokenizer.chat_template:
            raise ConfigError(
                f"{self._name} has no chat template; "
                "use an instruction-tuned model, or save a template beside its tokenizer"
            )
        # Each dialogue sends it to the process that renders it.
        if len(str(tokenizer.chat_template)) > _MOST_CHARS:
            raise ConfigError(f"{self._name}: its chat template is longer than {_MOST_CHARS:,}")
        added = tokenizer.added_tokens_decoder.values()
        special = {*tokenizer.all_special_tokens, *(str(each) for each in added if each.special)}
        self._special = sorted(special, key=lambda token: (-len(token), token))
        self._any_special = re.compile("|".join(map(re.escape, self._special)) or "(?!)")
        self._system_role = self._native = True
        self._system_role = self._takes_system_role()
        self._native = _TRIAL.name in self._rendered([_user("u")], [_TRIAL], prompt=True)
        self._end = self._end_of_turn()
        self._end_ids = self._encoded(self._end)
        ends = {self._end_ids[-1], tokenizer.eos_token_id, *stop_ids}
        self._stop_ids = tuple(sorted(each for each in ends if each is not None))
        self.form = form or self._found_form()
        self._after_call("")

    @property
    def stop_ids(self) -> Sequence[int]:
        """Tokens that end a completion."""
        return self._stop_ids

    def opening(
        self, briefing: Briefing, observation: Observation, tools: Sequence[ToolSpec]
    ) -> list[int]:
        """Return the system prompt, the tools and the instruction."""
        messages = opening(briefing, None, picture_part)
        shielded = [{**each, "content": self._shielded(str(each["content"]))} for each in messages]
        return self._encoded(self._rendered(shielded, tools, prompt=True))

    def following(self, observation: Observation, *, stopped: bool) -> list[int]:
        """Return the result of the call, up to the next completion."""
        rest = self._encoded(self._after_call(self._shielded(observation.text)))
        return rest if stopped else [*self._end_ids, *rest]

    def parse(self, completion: Sequence[int], tools: Sequence[ToolSpec]) -> Action:
        """Return the call that a completion makes.

        Raises:
            ValueError: It makes no usable call; the message says why.
        """
        kept = list(completion)
        while kept and kept[-1] in self._stop_ids:
            kept.pop()
        return read_call(self._text(kept), self.form)

    @property
    def vocabulary(self) -> Sequence[str]:
        """The text of each token, as the tokenizer names it."""
        names: list[str] = self._tokenizer.convert_ids_to_tokens(range(len(self._tokenizer)))
        return names

    def encode(self, action: Action) -> list[int]:
        """Return the tokens of a completion that makes a call, as the template writes it.

        Raises:
            ValueError: The template writes an assistant's turn otherwise than it opens one.
        """
        before = self._rendered([_user("u")], [], prompt=True)
        text = self._shielded(json.dumps(action.to_json(), default=dict))
        whole = self._rendered([_user("u"), self._call(json.loads(text))], [], prompt=False)
        if not whole.startswith(before):
            raise ValueError(f"{self._name}: its chat template does not continue its own prompt")
        told, end, _ = whole[len(before) :].partition(self._end)
        return self._encoded(told + end)

    def drifts(self, completion: Sequence[int]) -> bool:
        """Return whether the text of a completion has other tokens than were sampled."""
        return self._encoded(self._text(completion)) != list(completion)

    @property
    def _name(self) -> str:
        return f"the tokenizer of {self._tokenizer.name_or_path or 'the model'}"

    def _text(self, ids: Sequence[int]) -> str:
        options = {"skip_special_tokens": False, "clean_up_tokenization_spaces": False}
        told: str = self._asked(self._tokenizer.decode, list(ids), **options)
        return told

    def _asked(self, call: Callable[..., Any], told: object, **options: bool) -> Any:
        """Return an answer of the tokenizer, which threads ask one after the other.

        It keeps as a state whether special tokens are read as plain text: beside another call, an
        agent's text could become a special token.

        Raises:
            ConfigError: It refuses what it is told.
        """
        try:
            with self._turn:
                return call(told, **options)
        except BaseException as error:  # of any kind: its code in Rust panics, too
            pass_interruptions(error)
            raise ConfigError(
                f"{self._name} fails on a text of a dialogue: {error!s:.2000}"
            ) from error

    def _after_call(self, result: str) -> str:
        """Return what follows a call: its result, up to the next completion."""
        if self._native:
            answer = {"role": "tool", "name": _TRIAL.name, "tool_call_id": _CALL_ID}
            told: ChatMessage = {**answer, "content": result}
        else:
            told = _user(f"<tool_response>\n{result}\n</tool_response>")
        text = self._rendered([_user("u"), self._call(), told], [_TRIAL], prompt=True)
        _, _, rest = text.partition(_ARGUMENT)
        _, end, rest = rest.partition(self._end)
        if not end:
            raise ConfigError(
                f"{self._name}: its chat template does not end the turn of a tool call with "
                f"{self._end!r}, as it ends other turns; use another template"
            )
        return rest

    def _call(self, action: Mapping[str, Json] = _TRIAL_CALL) -> ChatMessage:
        """Return a message with a call."""
        function: Json = {"name": action["tool"], "arguments": action["arguments"]}
        if self._native:
            call: Json = {"id": _CALL_ID, "type": "function", "function": function}
            return {"role": "assistant", "content": "", "tool_calls": [call]}
        said = f"<tool_call>\n{json.dumps(function)}\n</tool_call>"
        return {"role": "assistant", "content": said}

    def _end_of_turn(self) -> str:
        """Return the special token that ends a turn of the assistant.

        Raises:
            ConfigError: The template has no such token.
        """
        said: ChatMessage = {"role": "assistant", "content": _ARGUMENT}
        text = self._rendered([_user("u"), said, _user("u")], [], prompt=True)
        if found := self._any_special.search(text.partition(_ARGUMENT)[2]):
            return found[0]
        raise ConfigError(
            f"{self._name}: its chat template ends the assistant's turn without a special token, "
            "so a completion would not end; use another template"
        )

    def _found_form(self) -> CallForm:
        """Return the form in which the template writes a call.

        Raises:
            ConfigError: The form is not known.
        """
        if not self._native:
            return CallForm.HERMES
        before = self._rendered([_user("u")], [_TRIAL], prompt=True)
        whole = self._rendered([_user("u"), self._call()], [_TRIAL], prompt=False)
        told = whole[len(commonprefix([before, whole])) :].rpartition(self._end)[0]
        for form in CallForm:
            try:
                if read_call(told, form) == Action.from_json(_TRIAL_CALL):
                    return form
            except ValueError:
                continue
        raise ConfigError(
            f"{self._name}: its chat template writes tool calls in a form that is not known: "
            f"{told[:200]!r}; choose the form that the model is to write: "
            + ", ".join(f'tool_calls = "{form}"' for form in CallForm)
        )

    def _takes_system_role(self) -> bool:
        try:
            self._rendered([{"role": "system", "content": "s"}, _user("u")], [], prompt=True)
        except ConfigError:
            return False
        return True

    def _rendered(
        self, messages: Sequence[ChatMessage], tools: Sequence[ToolSpec], *, prompt: bool
    ) -> str:
        """Return the text of messages, the tools in the system prompt if the template lacks them.

        Raises:
            ConfigError: The template refuses them.
        """
        kept = list(messages)
        offered = [json.loads(json.dumps(tool.to_openai(), default=dict)) for tool in tools]
        if offered and not self._native:
            listed = _TOOLS.format(tools="\n".join(json.dumps(tool) for tool in offered))
            system = kept.pop(0)["content"] if kept[0]["role"] == "system" else ""
            kept.insert(0, {"role": "system", "content": f"{system}{self._shielded(listed)}"})
        if not self._system_role and kept[0]["role"] == "system":
            system, first, *rest = kept
            kept = [{**first, "content": f"{system['content']}\n\n{first['content']}"}, *rest]
        told = json.loads(self._shielded(json.dumps(offered))) if self._native else None
        try:
            template = self._tokenizer.get_chat_template(tools=told or None)
            tokens = self._tokenizer.special_tokens_map
            return RENDERER.render(template, kept, told or None, tokens, prompt=prompt)
        except (RenderError, ValueError) as error:
            raise ConfigError(
                f"{self._name}: its chat template refuses a dialogue with tools: {error}"
            ) from error

    def _shielded(self, text: str) -> str:
        """Return a text whose special tokens have become numbers, so that they stay plain text."""
        return self._any_special.sub(
            lambda found: f"\ue000{self._special.index(found[0])}\ue001", text
        )

    def _encoded(self, text: str) -> list[int]:
        """Return the tokens of a rendered text; shielded special tokens are read as plain text."""
        ids: list[int] = []
        for number, part in enumerate(_SHIELD.split(text)):
            plain = number % 2 == 1
            if plain:
                part = self._special[int(part)] if int(part) < len(self._special) else ""
            if part:
                options = {"split_special_tokens": True} if plain else {}
                options["add_special_tokens"] = False
                found = self._asked(self._tokenizer, part, **options)
                ids += found["input_ids"]
        return ids


def _user(text: str) -> ChatMessage:
    return {"role": "user", "content": text}
