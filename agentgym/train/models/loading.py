"""Loads and saves models of Hugging Face transformers with their tokenizers.

A folder has the format of `save_pretrained`: safetensors, a configuration, the tokenizer with its
chat template. Other programs read what is saved here.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch

from agentgym.errors import ConfigError
from agentgym.train.models.examine import can_continue, can_pack, needed_context, reads_pictures
from agentgym.train.models.foreign_model import look_at, named, refuse_odd_texts, within
from agentgym.train.models.huggingface import HuggingFaceModel
from agentgym.train.models.picture_families import (
    load_processor,
    open_pictures,
    sees_pictures,
)
from agentgym.train.policies import HuggingFacePolicy

_SMALLEST: Final = 16
"""Tokens of the smallest context that a model can be tried with."""
_RECURRENT: Final = ("mamba", "linear", "recurrent", "conv", "ssm", "rwkv")


@dataclass(frozen=True)
class Pretrained:
    """A model with its tokenizer.

    Attributes:
        model: The model.
        tokenizer: A tokenizer of transformers.
        stop_ids: Tokens that end a completion, by the model's own configuration.
        processor: Its image processor, None if it reads no pictures.
    """

    model: HuggingFaceModel
    tokenizer: Any
    stop_ids: tuple[int, ...]
    processor: Any = None


def load_pretrained(policy: HuggingFacePolicy) -> Pretrained:
    """Load a model and its tokenizer, and find out how it can be used.

    Raises:
        ConfigError: It cannot be loaded, does not fit the device, or is of a kind that cannot be
            sampled with a cache of keys and values.
    """
    device = find_device(policy.device)
    inner, tokenizer, processor = _read(policy, find_dtype(policy.dtype, device))
    inner = inner.to(device)
    pictures = None if processor is None else open_pictures(inner, processor, policy.path)
    try:
        model = HuggingFaceModel(
            inner,
            context=policy.context,
            gradient_checkpointing=policy.gradient_checkpointing,
            pictures=pictures,
        )
    except ValueError as error:
        raise ConfigError(f"policy.gradient_checkpointing: {policy.path}: {error}") from error
    _examine(model, policy.path)
    ends = getattr(inner.generation_config, "eos_token_id", None)
    stop_ids = tuple(
        each for each in (ends if isinstance(ends, list) else [ends]) if each is not None
    )
    return Pretrained(model, tokenizer, stop_ids, processor)


def _read(policy: HuggingFacePolicy, dtype: torch.dtype) -> tuple[Any, Any, Any]:
    """Return a model, its tokenizer, and its image processor if it reads pictures.

    Raises:
        ConfigError: One of them cannot be loaded, or the model is of a kind that cannot be sampled.
    """
    from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

    chosen = {} if policy.attention == "auto" else {"attn_implementation": policy.attention}
    # An adapter in a folder names its model, which would come from the hub or from elsewhere here.
    is_folder = Path(policy.path).is_dir()
    if is_folder and (Path(policy.path) / "adapter_config.json").exists():
        raise ConfigError(
            f"policy.path: {policy.path} holds an adapter of another model; merge it into the "
            "model, and save that"
        )
    with ExitStack() as stack:
        if is_folder:
            stack.enter_context(within(look_at(Path(policy.path))))
        tokenizer = _tokenizer(policy.path)
        stack.enter_context(_without_bars())
        stack.enter_context(named(policy.path))
        # A folder may name code of its own, and the default asks the user on a terminal.
        found: dict[str, Any] = {"trust_remote_code": False, "local_files_only": is_folder}
        config = AutoConfig.from_pretrained(policy.path, **found)
        pictured = sees_pictures(config, policy.path, wanted=policy.pictures is True)
        processor = load_processor(policy.path) if pictured else None
        kind: Any = AutoModelForImageTextToText if pictured else AutoModelForCausalLM
        inner = kind.from_pretrained(
            policy.path,
            dtype=dtype,
            use_safetensors=True if is_folder else None,
            **found,
            **chosen,
        )
        _refuse_recurrent(inner.config, policy.path)
        _refuse_context(inner.config, policy)
    return inner, tokenizer, processor


def load_tokenizer(path: str) -> Any:
    """Return the tokenizer of a model.

    Raises:
        ConfigError: It cannot be loaded.
    """
    if Path(path).is_dir():
        refuse_odd_texts(Path(path))
    return _tokenizer(path)


def _tokenizer(path: str) -> Any:
    """Return the tokenizer of a model; the texts of a folder were looked at before."""
    from transformers import AutoTokenizer

    with named(path):
        return AutoTokenizer.from_pretrained(
            path, trust_remote_code=False, local_files_only=Path(path).is_dir()
        )


def save_pretrained(folder: Path, loaded: Pretrained) -> None:
    """Write a model and its tokenizer; a kill leaves the old or the new folder, or neither.

    Raises:
        OSError: The folder cannot be written.
    """
    part, old = folder.with_name(f"{folder.name}.part"), folder.with_name(f"{folder.name}.old")
    for stale in (part, old):
        _remove(stale)
    with _without_bars():
        loaded.model.inner.save_pretrained(part)
    loaded.tokenizer.save_pretrained(part)
    if loaded.processor is not None:
        loaded.processor.save_pretrained(part)
    if os.path.lexists(folder):
        os.replace(folder, old)
    os.replace(part, folder)
    _remove(old)


def _remove(path: Path) -> None:
    """Remove a folder, or the link or file in its place, if there is any."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _without_bars() -> Iterator[None]:
    """Keep transformers from drawing progress bars over those of a run."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def find_device(name: str) -> torch.device:
    """Return the device with a name; ``auto`` is the first GPU, or the CPU.

    Raises:
        ConfigError: This machine does not have it.
    """
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device = torch.device(name)
    found = torch.cuda.device_count()
    if device.type == "cuda" and (device.index or 0) >= found:
        raise ConfigError(
            f"policy.device: {name!r} is not here: torch {torch.__version__} sees {found} CUDA "
            'devices; use "auto" or "cpu", or install a build of torch for this GPU'
        )
    return device


def find_dtype(name: str, device: torch.device) -> torch.dtype:
    """Return the type of numbers with a name; ``auto`` is bfloat16 on a GPU that has it.

    Raises:
        ConfigError: The device has no bfloat16.
    """
    has = device.type != "cuda" or torch.cuda.is_bf16_supported()
    if name == "auto":
        return torch.bfloat16 if device.type == "cuda" and has else torch.float32
    if name == "bfloat16" and not has:
        raise ConfigError(f'policy.dtype: {device} has no bfloat16; use "float32" or "auto"')
    return torch.bfloat16 if name == "bfloat16" else torch.float32


def _refuse_context(config: Any, policy: HuggingFacePolicy) -> None:
    """Refuse a context that is larger than the positions or the attention window of a model.

    Within its window, sliding attention is full attention, which a row of a cache computes.

    Raises:
        ConfigError: The model has fewer positions, or a smaller window.
    """
    text = config.get_text_config()
    bounds = {"positions": getattr(text, "max_position_embeddings", None)}
    kinds = getattr(text, "layer_types", None)
    if kinds is None or any("sliding" in kind for kind in kinds):
        used = getattr(text, "use_sliding_window", True)
        bounds["tokens in its attention window"] = (
            text.sliding_window if used and hasattr(text, "sliding_window") else None
        )
    if kinds is None or any("chunked" in kind for kind in kinds):
        bounds["tokens in its attention chunk"] = getattr(text, "attention_chunk_size", None)
    for what, bound in bounds.items():
        if bound is not None and policy.context > bound:
            raise ConfigError(
                f"policy.context: {policy.context} tokens do not fit {policy.path}, which has "
                f"{bound} {what}; use context = {bound} or less"
            )
    if policy.context < _SMALLEST:
        raise ConfigError(f"policy.context: expected at least {_SMALLEST}, got {policy.context}")


def _refuse_recurrent(config: Any, path: str) -> None:
    text = config.get_text_config()
    kinds = [str(kind) for kind in getattr(text, "layer_types", None) or (text.model_type,)]
    if found := [kind for kind in kinds if any(word in kind for word in _RECURRENT)]:
        raise ConfigError(
            f"policy.path: {path} has layers of the kind {found[0]!r}, which keep a state instead "
            "of keys and values; choose a model whose layers are all attention"
        )


def _examine(model: HuggingFaceModel, path: str) -> None:
    """Find out whether rows can be packed, and that the model can be sampled.

    Raises:
        ConfigError: Texts that are read piece by piece come out otherwise than at once, or pictures
            are not laid out as the family of the model does it.
    """
    _refuse_small(model, path)
    try:
        model.packed = can_pack(model)
        told = "reads another text piece by piece than at once" if not can_continue(model) else ""
        if model.pictures is not None and not reads_pictures(model):
            told = "lays out pictures otherwise than its family"
    except Exception as error:  # noqa: BLE001 - of any kind, as its shapes are
        told = f"cannot be sampled with a cache of keys and values: {error!s:.2000}"
    if told:
        raise ConfigError(
            f"policy.path: {path} ({type(model.inner).__name__}) {told}; choose another model"
        )


def _refuse_small(model: HuggingFaceModel, path: str) -> None:
    """Refuse a context without room for the texts that a model is tried with.

    Raises:
        ConfigError: It has none.
    """
    with named(path):
        needed = needed_context(model)
    if model.context < needed:
        raise ConfigError(
            f"policy.context: {model.context} tokens do not hold a few pictures of {path}, which "
            f"take {needed} tokens; use context = {needed} or more"
        )
