"""`agentgym agent new`: writes a file with an agent that runs at once and is easy to change."""

from __future__ import annotations

import keyword
import re
from importlib.resources import files
from pathlib import Path
from typing import Final

from agentgym.errors import ConfigError

_CLASS: Final = "MyAgent"


def new_agent(path: Path, *, model: bool) -> tuple[Path, str]:
    """Write the file of a new agent.

    Args:
        path: Target file, with or without ``.py``; its name becomes the name of the class.
        model: Whether a model plays; otherwise the agent follows rules.

    Returns:
        The file and the name of the class in it.

    Raises:
        ConfigError: The file exists already, or its name is not a valid Python name.
    """
    file = path if path.suffix == ".py" else path.parent / f"{path.name}.py"
    if not file.stem.isidentifier() or keyword.iskeyword(file.stem):
        told = re.sub(r"\W+", "_", file.stem).strip("_") or "my_agent"
        raise ConfigError(f"{file.stem!r} is not a name for a Python file; write e.g.: {told}")
    if file.exists():
        raise ConfigError(f"{file} already exists; choose another name")
    name = "".join(part[:1].upper() + part[1:] for part in file.stem.split("_")) or _CLASS
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(template(model=model).replace(_CLASS, name), encoding="utf-8")
    return file, name


def template(*, model: bool) -> str:
    """Return the text of a new agent, whose class is called MyAgent."""
    name = "model.py.txt" if model else "rules.py.txt"
    return files("agentgym.authoring.agents").joinpath(name).read_text(encoding="utf-8")
