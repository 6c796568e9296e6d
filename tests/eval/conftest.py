"""A run folder for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic_run import Runs


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Runs]:
    made = Runs(tmp_path / "run")
    yield made
    made.close()
