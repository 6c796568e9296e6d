"""The examples of docs/bridges.md, imported as a user's own modules are."""

import importlib.util
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples/bridges"
sys.path.insert(0, str(Path(__file__).parents[1] / "env"))  # the environment without a computer


@pytest.fixture
def example():
    """Import an example by its name."""

    def load(name):
        spec = importlib.util.spec_from_file_location(f"bridge_{name}", EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
