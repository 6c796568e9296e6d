"""The chat template of a vision-language model: a picture is a run of placeholder tokens.

Where a picture stands in a message, and what stands around it, is found by rendering a message with
a text and a picture. A template that does not know pictures gets the placeholders after the text.
Text of a task or a tool never becomes a placeholder, even if it spells one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from os.path import commonprefix
from typing import Any, Final

from agentgym.errors import ConfigError
from agentgym.records import Briefing, Image, Observation, ToolSpec
from agentgym.train.templates.calls import CallForm
from agentgym.train.templates.chat import ChatTemplate

_HERE: Final = "\ue002"
"""A character of private use that marks the place of a picture until the text is encoded."""
_TRIAL: Final = ("c0ffee33d", "c0ffee44e")


@dataclass(frozen=True, slots=True)
class _Frame:
    """The texts that a template writes around a picture beside a text.

    Attributes:
        first: Whether the picture stands before the text.
        before: The text before its placeholders.
        after: The text after them.
    """

    first: bool = False
    before: str = "\n"
    after: str = ""


class PictureTemplate(ChatTemplate):
    """See the module; a `DialogueTemplate`.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        placeholder: Id of the placeholder token, one of the tokenizer's special tokens.
        count: Returns the number of placeholders of a picture.
        form: The form of tool calls; None finds out which form the template writes.
        stop_ids: Tokens that end a completion, beside those that the template ends turns with.

    Raises:
        ConfigError: The template cannot be used, or the token is not special.
    """

    def __init__(
        self,
        tokenizer: Any,
        placeholder: int,
        count: Callable[[Image], int],
        *,
        form: CallForm | None = None,
        stop_ids: Iterable[int] = (),
    ) -> None:
        self._placeholder, self._count, self._frame = placeholder, count, _Frame()
        super().__init__(tokenizer, form=form, stop_ids=stop_ids)
        token = tokenizer.convert_ids_to_tokens(placeholder)
        if token not in self._special:
            raise ConfigError(
                f"{self._name}: {token!r} is no special token, so texts could spell it"
            )
        self._frame = self._found_frame(token)

    def opening(
        self, briefing: Briefing, observation: Observation, tools: Sequence[ToolSpec]
    ) -> list[int]:
        """Return the system prompt, the tools, the instruction and the first picture.

        Raises:
            ValueError: The model cannot read the picture.
        """
        text = self._marked(briefing.instruction, observation)
        ids = super().opening(replace(briefing, instruction=text), observation, tools)
        return self._spread(ids, observation)

    def following(self, observation: Observation, *, stopped: bool) -> list[int]:
        """Return the result of the call with its picture, up to the next completion.

        Raises:
            ValueError: The model cannot read the picture.
        """
        marked = replace(observation, text=self._marked(observation.text, observation))
        return self._spread(super().following(marked, stopped=stopped), observation)

    def _encoded(self, text: str) -> list[int]:
        first, *rest = text.split(_HERE)
        before, after = (self._frame.before, self._frame.after) if rest else ("", "")
        ids = super()._encoded(first + before)
        for number, part in enumerate(rest, 1):
            further = before if number < len(rest) else ""
            ids += [self._placeholder, *super()._encoded(after + part + further)]
        return ids

    def _marked(self, text: str, observation: Observation) -> str:
        """Return a text with the place of the observation's picture beside it."""
        plain = text.replace(_HERE, "\ufffd")
        if observation.image is None:
            return plain
        return _HERE + plain if self._frame.first else plain + _HERE

    def _spread(self, ids: list[int], observation: Observation) -> list[int]:
        """Return tokens with as many placeholders as the picture has."""
        if observation.image is None:
            return ids
        run = [self._placeholder] * self._count(observation.image)
        return [new for token in ids for new in (run if token == self._placeholder else (token,))]

    def _found_frame(self, token: str) -> _Frame:
        """Return what the template writes around a picture, as the user's message shows one."""
        parts = [{"type": "text", "text": text} for text in _TRIAL]
        parts.insert(1, {"type": "image"})
        try:
            text = self._rendered([{"role": "user", "content": parts}], [], prompt=True)
        except ConfigError:
            return _Frame()
        places = [text.find(each) for each in (token, *_TRIAL)]
        if text.count(token) != 1 or min(places) < 0:
            return _Frame()
        picture, one, other = places
        if one < picture < other:
            before, after = text[one + len(_TRIAL[0]) : picture], text[picture + len(token) : other]
            return _Frame(False, before, after)
        if picture < one:
            bare = self._rendered([{"role": "user", "content": parts[::2]}], [], prompt=True)
            begin = len(commonprefix([text, bare]))
            return _Frame(True, text[begin:picture], text[picture + len(token) : one])
        return _Frame()
