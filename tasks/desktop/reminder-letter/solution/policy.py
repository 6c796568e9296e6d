"""Stub."""


def solve(view):
    yield view.act("wait", seconds=1)
