"""Tries versions of a file one after the other: do all tests pass with it?

It is quick and no evidence: pytest is imported once, a run stops at its first failure, and nothing
watches the tested code. What passes here is graded as any patch is.

Order: a line of JSON, then the contents of its ``files`` and of the versions that are tried, one
after the other. Answer: a line of JSON for each version, as soon as it is known.
"""

import importlib
import json
import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from agentgym.swe.inside.run_tests import Imports, end_descendants, lay_over, place


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    contents = sys.stdin.buffer.read()
    size = sum(size for *_, size in order["files"])
    root, kept = order["root"], f"/tmp/{os.urandom(8).hex()}"
    lay_over(root, order["remove"], order["files"], contents[:size])
    shutil.copytree(root, kept, symlinks=True)
    config = f"{kept}-{order['config_name']}"
    with open(config, "w") as file:
        file.write(order["config"])
    os.environ.update(order["env"])
    run = prepared(order, config)
    for path, length in order["tries"]:
        data, size = contents[size : size + length], size + length
        restore(root, kept)
        if path:
            with open(place(root, path), "wb") as file:
                file.write(data)
        print(json.dumps(tried(run, order["timeout_s"])), flush=True)


def restore(root: str, kept: str) -> None:
    """Make the repository what it was, whatever the tests did to it."""
    for name in os.listdir(root):
        full = os.path.join(root, name)
        if os.path.isdir(full) and not os.path.islink(full):
            shutil.rmtree(full)
        else:
            os.unlink(full)
    shutil.copytree(kept, root, symlinks=True, dirs_exist_ok=True)


def prepared(order: dict[str, Any], config: str) -> Callable[[int], NoReturn]:
    """Import pytest; return what runs the tests in a child, and writes what it saw to a pipe."""
    import pytest
    from _pytest import config as configured

    for name in configured.default_plugins:
        importlib.import_module(f"_pytest.{name}")

    def run(pipe: int) -> NoReturn:
        seen = Seen()
        os.chdir(order["root"])
        sys.argv = ["python3"]
        code = pytest.main(
            [
                *("-q", "-x", "--color=no", "--tb=no", "--runxfail", "--assert=plain"),
                *("-p", "no:cacheprovider", "-o", "addopts="),
                *("-c", config, "--rootdir", order["root"], "--confcutdir", order["root"]),
                *(word for plugin in order["plugins"] for word in ("-p", plugin)),
                *order["targets"],
            ],
            plugins=[Imports(order["python_path"]), seen],
        )
        os.write(pipe, json.dumps([int(code), seen.passed, seen.failed[:200]]).encode())
        os._exit(0)

    return run


class Seen:
    """A plug-in that counts tests that passed, and names the first that did not."""

    def __init__(self) -> None:
        self.passed, self.failed = 0, ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take a report on a part of a test."""
        if report.failed or report.skipped:
            self.failed = self.failed or report.nodeid
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report: Any) -> None:
        """Take a report on a module: one that cannot be imported is no test that passed."""
        if report.failed:
            self.failed = self.failed or report.nodeid


def tried(run: Callable[[int], NoReturn], timeout_s: float) -> dict[str, Any]:
    """Run the tests in a child that ends in time; return what it saw."""
    begun = time.monotonic()
    pipe, end = os.pipe()
    child = os.fork()
    if not child:
        os.close(pipe)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(nothing, number)
        try:
            run(end)
        finally:
            os._exit(70)
    os.close(end)
    process = os.pidfd_open(child)
    ended = bool(select.select([process], [], [], timeout_s)[0])
    os.close(process)
    if not ended:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    end_descendants()
    os.set_blocking(pipe, False)
    try:
        said = os.read(pipe, 65536)
        code, passed, failed = json.loads(said)
    except (OSError, ValueError):
        code, passed, failed = -1, 0, ""
    os.close(pipe)
    return {
        "timed_out": not ended,
        "code": code,
        "passed": passed,
        "failed": failed,
        "s": time.monotonic() - begun,
    }
