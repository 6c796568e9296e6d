"""What every test shares: a cache that is this session's own, and a Docker daemon that answers."""

import asyncio
import gc
import os
import shutil
import signal
from collections import Counter

import pytest
from hypothesis import settings
from memory_folder import use_memory
from own_dockerd import own_dockerd
from warm_command import WarmCommand

from agentgym.sandbox.docker.provider import DockerProvider

# How long an example takes says how busy the machine is; the timeout of a test bounds what hangs.
settings.register_profile("agentgym", deadline=None, max_examples=30)
settings.register_profile("full", deadline=None, max_examples=300)


def pytest_configure(config):
    """Choose the number of examples and the place of temporary folders, and take Ctrl-C.

    A shell's background job, as CI may start us, begins with that ignored.
    """
    settings.load_profile("full" if config.getoption("--full") else "agentgym")
    use_memory()
    # As many processes as processors run at once: threads of a library would only wait for them.
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure(config):
    """Remove what the workers have shared: some gigabytes, which pytest keeps if a test failed."""
    factory = getattr(config, "_tmp_path_factory", None)
    base = getattr(factory, "_basetemp", None)
    if base is not None and not hasattr(config, "workerinput"):
        for name in ("builds", "cache"):
            shutil.rmtree(base / name, ignore_errors=True)


def pytest_addoption(parser):
    parser.addoption(
        "--full",
        action="store_true",
        help="run the tests marked `full` too, every task with two seeds, and the long soak",
    )
    parser.addoption(
        "--note",
        action="store_true",
        help="note in tests/tasks/full_checks.json which tasks are sound over all seeds",
    )


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without garbage collection: each would walk thousands of tests, and all stay."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)


def pytest_collection_modifyitems(config, items):
    """Leave tests marked `full` or `sampled` to `make test-full`; pytest deselects them."""
    if not config.getoption("--full"):
        left = [*not_sampled(items), *(item for item in items if item.get_closest_marker("full"))]
        if left:
            config.hook.pytest_deselected(items=left)
            gone = set(left)
            items[:] = [item for item in items if item not in gone]
    if workers := getattr(config, "workerinput", {}).get("workercount"):
        items[:] = slow_first(items, workers)


def not_sampled(items):
    """Return the tests that the marker `sampled(n)` leaves out: all but one of n parameters."""
    seen, left = Counter(), []
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            number = seen[item.module, item.originalname]
            seen[item.module, item.originalname] += 1
            if number % mark.args[0]:
                left.append(item)
    return left


def slow_first(items, workers):
    """Put slow tests first in each worker's share, so that no processor waits for them at the end.

    pytest-xdist (`worksteal`) hands out equal shares of what is left, one after the other.
    """
    # The tests of a module that is slow as a whole may wait for one image: they stay together.
    alone = [any(mark.name == "slow" for mark in item.own_markers) for item in items]
    slow = [item for item, is_slow in zip(items, alone, strict=True) if is_slow]
    rest = [item for item, is_slow in zip(items, alone, strict=True) if not is_slow]
    ordered = []
    for number in range(workers):
        share = (len(items) - len(ordered)) // (workers - number)
        first = slow[number::workers]
        taken = max(0, share - len(first))
        ordered += [*first, *rest[:taken]]
        rest = rest[taken:]
    return [*ordered, *rest]


@pytest.fixture(scope="session")
def full(pytestconfig):
    """Whether this session runs everything (`make test-full`)."""
    return pytestconfig.getoption("--full")


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory):
    """A temporary folder that the workers of one session share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session", autouse=True)
def session_cache(session_folder):
    """Keep what tests prepare away from the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTGYM_CACHE", str(session_folder / "cache"))
        # A test with a cache of its own still shares the runtime: assembling one takes a second.
        patch.setenv("AGENTGYM_RUNTIMES", str(session_folder / "runtimes"))
        yield


@pytest.fixture(scope="session")
def warm_command():
    """The `agentgym` command without the time that its imports take."""
    command = WarmCommand()
    yield command
    command.close()


@pytest.fixture(scope="session")
def docker_problem(session_folder, session_cache):
    """Why tests with Docker cannot run, else empty; starts a daemon where none answers."""
    problem = describe_docker()
    if not problem:
        yield ""
        # Nobody else has a use for what was prepared from a cache that is about to go.
        asyncio.run(drop_prepared())
        return
    with (
        own_dockerd(session_folder / "dockerd") as (host, why),
        pytest.MonkeyPatch.context() as patch,
    ):
        if host:
            patch.setenv("DOCKER_HOST", host)
        yield describe_docker() if host else f"{problem}; the tests start none: {why}"


async def drop_prepared():
    provider = DockerProvider()
    await provider.prune(())
    await provider.close()


def describe_docker():
    return "; ".join(f"{p.what} ({p.fix})" for p in DockerProvider().problems())


@pytest.fixture(autouse=True)
def skip_without_docker(request):
    """Let tests marked `docker` run where it answers, and say why where it does not."""
    marked = request.node.get_closest_marker("docker")
    if marked and (problem := request.getfixturevalue("docker_problem")):
        pytest.skip(problem)
