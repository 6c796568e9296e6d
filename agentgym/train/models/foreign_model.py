"""A model's folder from strangers: looked at before transformers reads it, and built within limits.

Its configuration may ask for any number of layers and weights, whatever its files hold. A model is
therefore built with a watch over what is registered in it: no more modules than its tensors account
for, and no more numbers than its files have bytes.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from torch import Tensor, nn
from torch.nn.modules import module as registering

from agentgym.errors import ConfigError, pass_interruptions
from agentgym.regular_file import read_regular
from agentgym.train.foreign_files import refuse_special_files

_INDEX: Final = "model.safetensors.index.json"
_TEXTS: Final = (".json", ".jinja", ".txt", ".model")
_TOKENIZER: Final = "tokenizer.json"
_STAGES: Final = ("normalizer", "pre_tokenizer", "decoder")
_MOST_GROWTH: Final = 1_000
"""A text may become so many times longer by all parts of a stage together."""
_MOST_ADDED: Final = 20_000
_MOST_CHARS: Final = 1_000
_OBJECTS: Final = (
    *("config.json", "generation_config.json", _INDEX),
    *("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"),
    *("preprocessor_config.json", "processor_config.json"),
)
_TEXT_BYTES: Final = 64 << 20
"""Of a tokenizer or another text of a model; those of large models have 35 MB."""
_HEADER_BYTES: Final = 16 << 20
_MOST_COUNT: Final = 1 << 16
_MOST_DEPTH: Final = 64
_MOST_TOLD: Final = 2_000
_COUNTS: Final = ("num_", "n_layer", "n_head", "n_expert")


@dataclass(frozen=True, slots=True)
class WeightFiles:
    """The files of a model's weights.

    Attributes:
        tensors: Number of tensors.
        size: Bytes of all tensors.
    """

    tensors: int
    size: int

    @property
    def modules(self) -> int:
        """The most modules that a model of these tensors is made of."""
        return 1_000 + 16 * self.tensors

    @property
    def numbers(self) -> int:
        """The most numbers that it registers; some stand twice, and few have half a byte."""
        return (1 << 24) + 4 * self.size


def refuse_odd_texts(folder: Path) -> None:
    """Look at the texts of a model's folder: its tokenizer, template and configuration.

    Raises:
        ConfigError: One is too large, no text of its kind, or neither a file nor a folder.
    """
    refuse_special_files(folder)
    with named(str(folder)):
        for path in folder.iterdir():
            if path.suffix in _TEXTS and path.stat().st_size > _TEXT_BYTES:
                raise ValueError(f"{path.name}: more than {_TEXT_BYTES >> 20} MiB")
        for name in _OBJECTS:
            if (folder / name).exists():
                _object(folder / name)
        if (folder / _TOKENIZER).exists():
            _refuse_odd_tokenizer(_object(folder / _TOKENIZER))


def look_at(folder: Path) -> WeightFiles:
    """Look at the configuration and the weights of a model's folder; return what they hold.

    Raises:
        ConfigError: They are not what `save_pretrained` writes, or not of an honest size.
    """
    with named(str(folder)):
        config = _object(folder / "config.json")
    refuse_odd_texts(folder)
    with named(str(folder)):
        _refuse_counts(config)
        tensors = size = header_bytes = 0
        for path in _weights(folder):
            header = _header(path, _HEADER_BYTES - header_bytes)
            header_bytes += len(header)
            names = header.count(b'"data_offsets"')
            tensors, size = tensors + names, size + path.stat().st_size
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if size > memory:
            raise ValueError(f"its weights have {size:,} bytes, and this machine {memory:,}")
    return WeightFiles(tensors, size)


@contextmanager
def within(files: WeightFiles) -> Iterator[None]:
    """Watch over what this thread registers in modules.

    Raises:
        ValueError: It is more than the files of a model account for.
    """
    here, counts = threading.get_ident(), {"modules": 0, "numbers": 0}
    most = {"modules": files.modules, "numbers": files.numbers}

    def count(what: str, number: int) -> None:
        if threading.get_ident() != here:
            return
        counts[what] += number
        if counts[what] > most[what]:
            raise ValueError(
                f"its configuration makes more than {most[what]:,} {what}, and its files hold "
                f"{files.tensors:,} tensors of {files.size:,} bytes"
            )

    def module(_: nn.Module, name: str, added: nn.Module | None) -> None:
        count("modules", 1)

    def tensor(_: nn.Module, name: str, added: Tensor | None) -> None:
        count("numbers", 0 if added is None else added.numel())

    with ExitStack() as stack:
        hooks: list[Any] = [
            registering.register_module_module_registration_hook(module),
            registering.register_module_parameter_registration_hook(tensor),
            registering.register_module_buffer_registration_hook(tensor),
        ]
        for hook in hooks:
            stack.callback(hook.remove)
        yield


@contextmanager
def named(path: str) -> Iterator[None]:
    """Name a model as the cause of whatever transformers raises about its files.

    Raises:
        ConfigError: Something was raised; the message says what.
    """
    try:
        yield
    except ConfigError:
        raise
    except BaseException as error:  # a panic of its code in Rust is no `Exception`
        pass_interruptions(error)
        said = str(error) if isinstance(error, OSError | ValueError) else f"{error!r}"
        raise ConfigError(f"policy.path: {_unusable(path, said[:_MOST_TOLD])}") from error


def _unusable(path: str, said: str) -> str:
    where = Path(path)
    if where.is_dir() and not (where / "config.json").is_file():
        return f"{path!r} has no config.json; expected a folder that save_pretrained wrote"
    if not where.is_dir() and (where.is_absolute() or path.startswith(".")):
        return f"there is no folder {path!r}; name one that save_pretrained wrote, or a hub model"
    return f"{path!r} cannot be loaded: {said}"


def _object(path: Path) -> dict[str, Any]:
    """Return a JSON object of a model's folder.

    Raises:
        ValueError: The file is no JSON object, or is nested too deep.
    """
    try:
        found = json.loads(read_regular(path, _TEXT_BYTES))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    if not isinstance(found, dict):
        raise ValueError(f"{path.name}: expected an object")
    return found


def _refuse_counts(config: object, depth: int = 0) -> None:
    """Refuse numbers of layers, heads, experts and labels that no model has."""
    if depth > _MOST_DEPTH:
        raise ValueError(f"config.json: nested more than {_MOST_DEPTH} deep")
    if isinstance(config, dict):
        for name, value in config.items():
            is_count = name.startswith(_COUNTS) or name.endswith(("_layers", "_experts"))
            if is_count and isinstance(value, int) and value > _MOST_COUNT:
                raise ValueError(f"config.json: {name!r:.100} is more than {_MOST_COUNT:,}")
            _refuse_counts(value, depth + 1)
    elif isinstance(config, list):
        if len(config) > _MOST_COUNT:
            raise ValueError(f"config.json: a list of more than {_MOST_COUNT:,}")
        for value in config:
            _refuse_counts(value, depth + 1)


def _refuse_odd_tokenizer(tokenizer: dict[str, Any]) -> None:
    """Refuse a tokenizer that would make any length of text of a short one, or takes long to make.

    Each of its parts may write a text for a letter, and the next one reads what it wrote.
    """
    for stage in _STAGES:
        growth = 1
        for part in _objects(tokenizer.get(stage)):
            for key in ("content", "prepend", "replacement"):
                growth *= max(len(str(part.get(key) or "")), 1)
            if growth > _MOST_GROWTH:
                told = f"its {stage} makes a text more than {_MOST_GROWTH:,} times longer"
                raise ValueError(f"{_TOKENIZER}: {told}")
    added = tokenizer.get("added_tokens")
    if isinstance(added, list) and len(added) > _MOST_ADDED:
        raise ValueError(f"{_TOKENIZER}: more than {_MOST_ADDED:,} added tokens")
    if any(len(str(each.get("content"))) > _MOST_CHARS for each in _objects(added)):
        raise ValueError(f"{_TOKENIZER}: an added token of more than {_MOST_CHARS:,} characters")


def _objects(value: object) -> Iterator[dict[str, Any]]:
    """Yield the objects in a value of JSON, at any depth."""
    waiting = [value]
    while waiting:
        found = waiting.pop()
        if isinstance(found, dict):
            yield found
        if isinstance(found, dict | list):
            waiting += found.values() if isinstance(found, dict) else found


def _weights(folder: Path) -> list[Path]:
    """Return the files of weights that transformers would read; all lie in the folder.

    Raises:
        ValueError: The folder has no safetensors, or its index names files elsewhere.
    """
    whole, index = folder / "model.safetensors", folder / _INDEX
    if whole.exists():
        return [whole]
    if not index.exists():
        raise ValueError(
            "it has no model.safetensors; expected a folder that save_pretrained wrote "
            "(weights that are a pickle are not read)"
        )
    places = _object(index).get("weight_map")
    if not isinstance(places, dict):
        raise ValueError(f"{_INDEX}: expected an object 'weight_map'")
    names = sorted({str(name) for name in places.values()})
    for name in names:
        if name in ("", ".", "..") or os.path.basename(name) != name:
            raise ValueError(f"{_INDEX}: {name!r:.100} is no name of a file in the folder")
    return [folder / name for name in names]


def _header(path: Path, most: int) -> bytes:
    """Return the header of a file of safetensors."""
    with path.open("rb") as file:
        head = file.read(8)
        size = struct.unpack("<Q", head)[0] if len(head) == 8 else most + 1
        if size > most:
            raise ValueError(f"{path.name}: its header is no header, or has too many tensors")
        return file.read(size)
