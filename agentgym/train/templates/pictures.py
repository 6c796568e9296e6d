"""The chat template of a vision-language model: a picture is a run of placeholder tokens.

The placeholders stand after the text of the message that shows the picture. Text of a task or a
tool never becomes a placeholder, even if it spells one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from agentgym.errors import ConfigError
from agentgym.records import Briefing, Observation, ToolSpec
from agentgym.train.templates.calls import CallForm
from agentgym.train.templates.chat import ChatTemplate

_HERE: Final = "\ue002"
"""A character of private use that marks the place of a picture until the text is encoded."""


class PictureTemplate(ChatTemplate):
    """See the module; a `DialogueTemplate`.

    Args:
        tokenizer: A tokenizer of transformers with a chat template.
        placeholder: The placeholder token, one of the tokenizer's special tokens.
        patches: Number of placeholders of a picture.
        form: The form of tool calls; None finds out which form the template writes.
        stop_ids: Tokens that end a completion, beside those that the template ends turns with.

    Raises:
        ConfigError: The template cannot be used, or the token is not special.
    """

    def __init__(
        self,
        tokenizer: Any,
        placeholder: str,
        patches: int,
        *,
        form: CallForm | None = None,
        stop_ids: Iterable[int] = (),
    ) -> None:
        super().__init__(tokenizer, form=form, stop_ids=stop_ids)
        if placeholder not in self._special:
            raise ConfigError(
                f"{self._name}: {placeholder!r} is no special token, so texts could spell it"
            )
        self._run = [tokenizer.convert_tokens_to_ids(placeholder)] * patches

    def opening(
        self, briefing: Briefing, observation: Observation, tools: Sequence[ToolSpec]
    ) -> list[int]:
        """Return the system prompt, the tools, the instruction and the first picture."""
        text = _marked(briefing.instruction, observation)
        return super().opening(replace(briefing, instruction=text), observation, tools)

    def following(self, observation: Observation, *, stopped: bool) -> list[int]:
        """Return the result of the call with its picture, up to the next completion."""
        marked = replace(observation, text=_marked(observation.text, observation))
        return super().following(marked, stopped=stopped)

    def _encoded(self, text: str) -> list[int]:
        first, *rest = text.split(_HERE)
        ids = super()._encoded(first)
        for part in rest:
            ids += [*self._run, *super()._encoded(part)]
        return ids


def _marked(text: str, observation: Observation) -> str:
    """Return a text with the place of the observation's picture after it."""
    plain = text.replace(_HERE, "\ufffd")
    return plain if observation.image is None else f"{plain}\n{_HERE}"
