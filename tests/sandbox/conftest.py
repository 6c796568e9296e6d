import hashlib
import subprocess

import pytest

from agentgym.records import Limits, Recipe
from agentgym.sandbox.bubblewrap import BubblewrapProvider


@pytest.fixture
async def provider(tmp_path):
    provider = BubblewrapProvider(tmp_path / "store")
    yield provider
    await provider.close()
    assert list((tmp_path / "store/live").iterdir()) == []


@pytest.fixture
def recipe():
    """A host recipe with the given limits."""
    return lambda **limits: Recipe("host", limits=Limits(**limits))


def docker_problems():
    """Why Docker sandboxes cannot run here, in words; empty where they can."""
    from agentgym.sandbox.docker import DockerProvider

    return "; ".join(f"{problem.what} ({problem.fix})" for problem in DockerProvider().problems())


@pytest.fixture
def docker_root(tmp_path):
    """A root for Docker providers of which nothing is left in the daemon afterwards."""
    if problems := docker_problems():
        pytest.skip(problems)
    root = tmp_path / "docker"
    yield root
    store = hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]
    listing = ["docker", "images", "-q", "--filter", f"label=agentgym.store={store}"]
    for image in set(subprocess.check_output(listing, text=True).split()):
        subprocess.run(["docker", "rmi", "-f", image], check=True, stdout=subprocess.DEVNULL)
