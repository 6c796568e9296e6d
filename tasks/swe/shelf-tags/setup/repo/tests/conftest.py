import pytest

from shelf import Shelf


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def shelf(clock):
    return Shelf(limit=3, lifetime=60.0, clock=clock)
