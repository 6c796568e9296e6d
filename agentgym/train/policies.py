"""The policies that a configuration may name: a model, and the template of its dialogues."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from agentgym.manifest import Manifest
from agentgym.records import Action, Json
from agentgym.train.templates.calls import CallForm
from agentgym.train.templates.words import check_words

Positive = Annotated[int, Field(ge=1)]

MOST_TINY_WEIGHTS: Final = 100_000_000
"""Weights of the built-in transformer: 400 MB."""

_MOST_CACHED: Final = 1_000_000_000
"""Numbers of its cache: 4 GB."""


class PolicyKind(StrEnum):
    """Kinds of models."""

    TINY = "tiny"
    HUGGINGFACE = "huggingface"


class CallConfig(Manifest):
    """A tool call that a word stands for."""

    tool: str
    arguments: dict[str, Json] = {}


class TinyPolicy(Manifest):
    """The built-in transformer, and the words that it reads and samples."""

    kind: PolicyKind = PolicyKind.TINY
    width: Positive = 64
    layers: Annotated[int, Field(ge=1, le=256)] = 2
    heads: Positive = 4
    context: Positive = 128
    batch_invariant: bool = False
    """Sample each dialogue by itself, so that runs repeat to the last bit; slower."""
    actions: dict[str, str | CallConfig] = Field(min_length=1)
    """Words that are sampled: each is a shell command or a tool call."""
    words: tuple[str, ...] = ()
    """Further words that are read; any other word is read as an unknown one."""

    @model_validator(mode="after")
    def _fits_in_memory(self) -> Self:
        """Refuse a model that is not tiny: a stranger's run may name any size."""
        read = len(self.actions) + len(self.words) + self.context
        weights = 12 * self.layers * self.width**2 + read * self.width
        if weights > MOST_TINY_WEIGHTS:
            raise ValueError(
                f"about {weights:,} weights; expected at most {MOST_TINY_WEIGHTS:,}; choose a "
                "smaller width, or fewer layers"
            )
        return self

    @model_validator(mode="after")
    def _has_a_template(self) -> Self:
        if self.width % (2 * self.heads):
            raise ValueError(
                f"width: expected a multiple of {2 * self.heads} (twice the heads), got "
                f"{self.width}"
            )
        check_words((*self.actions, *self.words))
        return self

    def check_cache(self, rows: int) -> None:
        """Refuse a cache that does not fit in memory.

        Raises:
            ValueError: So many dialogues of this policy's context take too much.
        """
        numbers = 2 * self.layers * self.width * self.context * rows
        if numbers > _MOST_CACHED:
            raise ValueError(
                f"policy.context: the cache of {rows} dialogues has {numbers:,} numbers; expected "
                f"at most {_MOST_CACHED:,}; choose a smaller context, or fewer rollouts.jobs"
            )

    def calls(self) -> dict[str, Action]:
        """Return the call of each action."""
        return {
            word: Action("bash", {"command": call})
            if isinstance(call, str)
            else Action(call.tool, call.arguments)
            for word, call in self.actions.items()
        }


class HuggingFacePolicy(Manifest):
    """A causal language model of Hugging Face transformers with its tokenizer."""

    kind: Literal[PolicyKind.HUGGINGFACE]
    path: str = Field(min_length=1)
    """A folder that `save_pretrained` wrote, beside the file if it begins with ``./``; or the name
    of a model on the hub."""
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    """Numbers that the model computes with; ``auto`` is bfloat16 on a GPU that has it."""
    device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    """``auto`` is the first GPU, or the CPU."""
    attention: Literal["auto", "sdpa", "eager", "flash_attention_2"] = "auto"
    gradient_checkpointing: bool = False
    """Compute activations anew in the backward pass: less memory, a third more time."""
    context: Positive = 4096
    """Tokens of one dialogue."""
    completion_tokens: Positive = 512
    """Tokens of one completion."""
    pictures: Literal["auto"] | bool = "auto"
    """Whether the policy sees the pictures of observations; ``auto``: if the model is of a family
    whose pictures are known."""
    tool_calls: Literal["auto"] | CallForm = "auto"
    """The form of tool calls; ``auto`` finds out which form the chat template writes."""
    batch_invariant: bool = False
    """Sample each dialogue by itself, so that runs repeat to the last bit; slower."""


def _tag(given: Any) -> str:
    kind = given.get("kind") if isinstance(given, dict) else getattr(given, "kind", None)
    return "[huggingface]" if kind == PolicyKind.HUGGINGFACE else "[tiny]"


PolicyConfig = Annotated[
    Annotated[TinyPolicy, Tag("[tiny]")] | Annotated[HuggingFacePolicy, Tag("[huggingface]")],
    Discriminator(_tag),
]
"""A ``[policy]`` table. Tags in brackets are left out of messages (`agentgym.manifest`)."""
