import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from proxied import names, nothing_left  # noqa: F401 - fixtures

import agentgym
from agentgym.records import Limits, Recipe
from agentgym.sandbox import launch
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.docker.provider import DockerProvider


@pytest.fixture
def docker_root(tmp_path):
    """A root for Docker providers, of which nothing is left in the daemon afterwards."""
    import docker

    root = tmp_path / "store"
    yield root
    label = f"agentgym.store={hashlib.sha256(str(root.resolve()).encode()).hexdigest()[:12]}"
    daemon = docker.from_env().api
    try:
        # What was kept is meant to stay; everything else the provider had to remove.
        images = daemon.images(filters={"label": label})
        for image in images:
            daemon.remove_image(image["Id"], force=True)
        assert all(image["RepoTags"] for image in images), images
        assert daemon.containers(all=True, filters={"label": label}) == []
        for file in root.glob("made/*"):
            name = file.name.replace(" ", "/")
            if not name.startswith("agentgym/host:") and daemon.images(name=name):
                daemon.remove_image(name)
    finally:
        daemon.close()


# Containers take most of the time of these tests. Docker runs the contract, the attacks and what
# only Docker has on every change, and the rest with --full.
@pytest.fixture(
    params=[
        "bubblewrap",
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.full]),
    ]
)
async def provider(request, tmp_path):
    if request.param == "docker":
        request.getfixturevalue("docker_root")
        provider = DockerProvider(tmp_path / "store")
    else:
        provider = BubblewrapProvider(tmp_path / "store")
    yield provider
    await provider.close()
    live = tmp_path / "store/live"
    assert not live.exists() or list(live.iterdir()) == []


@pytest.fixture
def recipe():
    """A host recipe with the given limits."""
    return lambda **limits: Recipe("host", limits=Limits(**limits))


@pytest.fixture
def as_somebody(tmp_path):
    """Runs Python code as an ordinary user: `run(code, *arguments)` returns what it printed.

    Its last argument is a folder of that user's own.
    """
    if os.geteuid() != 0:
        pytest.skip("needs root to become somebody else")
    version = "import sys; print(sys.version_info[:2])"
    python = next(
        (
            path
            for path in (sys.executable, "/usr/bin/python3")
            if subprocess.run(
                # Through a shell: setpriv itself may still look into folders that are root's.
                [*launch.as_owner(), "sh", "-c", f"exec {path} -c '{version}'"],
                capture_output=True,
                text=True,
            ).stdout.strip()
            == str(sys.version_info[:2])
        ),
        None,
    )
    if python is None:
        pytest.skip(f"no Python {sys.version_info[:2]} that an ordinary user may run")
    home = Path(f"/var/tmp/agentgym-unprivileged-{os.getpid()}")
    home.mkdir()
    os.chown(home, launch.sandbox_owner(), launch.sandbox_owner())
    paths = [str(Path(agentgym.__file__).parents[1]), str(Path(__file__).parent)]
    paths += [path for path in sys.path if "site-packages" in path]

    def run(code, *arguments):
        done = subprocess.run(
            [*launch.as_owner(), python, "-B", "-c", code, *arguments, str(home / "store")],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": ":".join(paths)},
            cwd="/",
            capture_output=True,
            text=True,
            timeout=250,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout

    yield run
    subprocess.run(["rm", "-rf", str(home)], check=True)
