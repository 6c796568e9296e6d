"""The examples of docs/bridges.md, imported as a user's own modules are."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples/bridges"


@pytest.fixture
def example():
    """Import an example by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"bridge_{name}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
