"""Makes the model and the template that a configuration names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from agentgym.installation import missing_extra
from agentgym.protocols.training import CausalModel, EncodingTemplate
from agentgym.train.models.tiny import TinyShape, TinyTransformer
from agentgym.train.policies import HuggingFacePolicy, TinyPolicy
from agentgym.train.templates.words import WordTemplate

if TYPE_CHECKING:
    from agentgym.train.models.loading import Pretrained
    from agentgym.train.models.pictures import PictureTable


@dataclass(frozen=True)
class LoadedPolicy:
    """A policy in memory.

    Attributes:
        model: A `torch.nn.Module` that is a `CausalModel`.
        template: Of its dialogues.
        completion_tokens: Largest number of tokens of a completion.
        notes: What a user should know about how it is used; a sentence each.
        pretrained: The model of transformers and its tokenizer, None for others.
        pictures: The pictures of the model, None if the policy sees text only.
    """

    model: CausalModel
    template: EncodingTemplate
    completion_tokens: int
    notes: tuple[str, ...] = ()
    pretrained: Pretrained | None = None
    pictures: PictureTable | None = None

    @property
    def tokens(self) -> int:
        """Number of tokens that the model knows."""
        if self.template.vocabulary is not None:
            return len(self.template.vocabulary)
        assert self.pretrained is not None  # Only its template has a vocabulary without texts.
        return int(self.pretrained.model.inner.get_input_embeddings().num_embeddings)

    @property
    def module(self) -> nn.Module:
        """The model as PyTorch sees it."""
        assert isinstance(self.model, nn.Module)
        return self.model

    def save(self, folder: Path) -> None:
        """Write a model of transformers as `save_pretrained` does; others have no such form."""
        if self.pretrained is not None:
            from agentgym.train.models.loading import save_pretrained

            save_pretrained(folder, self.pretrained)


def load_policy(policy: TinyPolicy | HuggingFacePolicy, *, seed: int) -> LoadedPolicy:
    """Make a policy: a tiny one with random weights, or one of transformers from its folder.

    Args:
        policy: Its configuration.
        seed: Seed of random weights.

    Raises:
        ConfigError: It cannot be loaded.
        MissingExtraError: transformers is not installed.
    """
    torch.manual_seed(seed)
    if isinstance(policy, HuggingFacePolicy):
        return _huggingface(policy)
    template = WordTemplate(policy.calls(), policy.words)
    size = (len(template.vocabulary), policy.width, policy.layers, policy.heads, policy.context)
    return LoadedPolicy(TinyTransformer(TinyShape(*size)), template, 1)


def _huggingface(policy: HuggingFacePolicy) -> LoadedPolicy:
    try:
        from agentgym.train.models.foreign_model import named
        from agentgym.train.models.loading import load_pretrained
        from agentgym.train.templates.chat import ChatTemplate
        from agentgym.train.templates.pictures import PictureTemplate
    except ModuleNotFoundError as error:
        raise missing_extra(error.name or "transformers", "train-hf") from error
    loaded = load_pretrained(policy)
    model = loaded.model
    form = None if policy.tool_calls == "auto" else policy.tool_calls
    pictures = None if policy.pictures is False else model.pictures
    calls: dict[str, Any] = {"form": form, "stop_ids": loaded.stop_ids}
    with named(policy.path):
        if pictures is None:
            template = ChatTemplate(loaded.tokenizer, **calls)
        else:
            layout = (pictures.placeholder, pictures.count)
            template = PictureTemplate(loaded.tokenizer, *layout, **calls)
    notes = [
        f"{policy.path}: {sum(each.numel() for each in model.parameters()):,} weights in "
        f"{str(model.inner.dtype).removeprefix('torch.')} on {model.device}, tool calls as "
        f"{template.form}"
    ]
    if not model.packed:
        notes.append(
            f"{type(model.inner).__name__} cannot tell sequences in one row apart, so each is "
            "padded to a row of its own"
        )
    if pictures is None and getattr(model.inner.config, "vision_config", None) is not None:
        notes.append(f"{policy.path}: it does not see the pictures of observations")
    told = (model, template, policy.completion_tokens)
    return LoadedPolicy(*told, tuple(notes), loaded, pictures)
