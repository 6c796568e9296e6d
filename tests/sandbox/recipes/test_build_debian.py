"""The recipes that are shipped, built for real. Slow the first time; kept between sessions.

AGENTGYM_TEST_CACHE names where; its default is outside the clone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from built_images import keep_builds
from tiny_images import content, files_of

from agentgym.errors import AgentGymError
from agentgym.sandbox.build.builder import build
from agentgym.sandbox.images import Image
from agentgym.sandbox.recipe import load_plan, load_recipe

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def kept(monkeypatch) -> Path:
    return keep_builds(monkeypatch)


@pytest.fixture
def shipped(kept):
    """Builds a shipped recipe, or says why that cannot be."""

    def run(name: str) -> Image:
        plan = load_plan(name)
        assert plan is not None
        try:
            return build(plan, tell=print)
        except AgentGymError as error:
            unreachable = ("Couldn't download", "Failed to fetch", "Invalid Release file")
            if any(words in str(error) for words in unreachable):
                pytest.skip(f"no Debian mirror answers: {error}")
            raise

    return run


def installed(image: Image) -> set[str]:
    status = content(image, "var/lib/dpkg/status").decode()
    return {line.split()[1] for line in status.splitlines() if line.startswith("Package: ")}


def test_debian(shipped):
    image = shipped("debian")
    files = files_of(image)
    assert {"git", "curl", "less", "procps", "vim-tiny", "ca-certificates"} <= installed(image)
    assert "bookworm" in content(image, "usr/lib/os-release").decode()
    # Nothing of the way it was made is left.
    assert files["etc/resolv.conf"].size == 0
    assert content(image, "etc/hostname") == b"sandbox\n"
    listed = content(image, "etc/apt/sources.list").decode().split("\n")
    assert listed[0].startswith("deb http://deb.debian.org/debian bookworm main")
    for name in ("usr/sbin/policy-rc.d", "run/agentgym-build", "dev/null", "var/log/bootstrap.log"):
        assert name not in files
    assert not [n for n in files if n.startswith("var/lib/apt/lists/") and n.endswith("Packages")]
    assert not [n for n in files if n.startswith("var/cache/apt/archives/") and n.endswith(".deb")]
    # Packages own their files: nothing was squashed to one account.
    assert {member.gid for member in files.values()} >= {0, 8, 42}


def test_python(shipped):
    image = shipped("python")
    assert image.layers[0] == shipped("debian").layers[0]
    files = files_of(image)
    assert "usr/local/bin/pytest" in files and "usr/bin/pip" in files
    assert load_recipe("python").env["LANG"] == "C.UTF-8"
    # Compiled beside its source, and so still valid after unpacking.
    source = files["usr/local/lib/python3.11/dist-packages/pytest/__init__.py"]
    name = "usr/local/lib/python3.11/dist-packages/pytest/__pycache__/__init__.cpython-311.pyc"
    stamp = int.from_bytes(content(image, name)[8:12], "little")
    assert stamp == int(source.mtime)


@pytest.mark.full
def test_node(shipped):
    assert {"nodejs", "npm"} <= installed(shipped("node"))


@pytest.mark.full
def test_debootstrap_makes_the_same_twice(shipped, monkeypatch, tmp_path, kept):
    """Two caches, both kept between sessions, hold the same base layer."""
    image = shipped("debian")
    folder = tmp_path / "sandboxes/base"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(
        'schema_version = "agentgym.recipe/1"\ntitle = "b"\ndebootstrap = { suite = "bookworm" }\n'
    )
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.setenv("AGENTGYM_CACHE", str(kept / "again"))
    again = build(load_plan("base"), tell=print)
    if content(again, "var/lib/dpkg/status") != _first_status(image):
        folder = (kept / "again").resolve()
        pytest.skip(f"the two were made of packages of different days; remove {folder}")
    assert again.layers[0].diff_id == image.layers[0].diff_id


def _first_status(image: Image) -> bytes:
    return content(Image("", "", image.layers[:1], {}), "var/lib/dpkg/status")


@pytest.mark.full
def test_a_dockerfile_that_installs_packages(shipped, tmp_path, monkeypatch, kept):
    shipped("debian")
    folder = tmp_path / "sandboxes/task"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(
        'schema_version = "agentgym.recipe/1"\ntitle = "t"\ndockerfile = "Dockerfile"\n'
    )
    (folder / "hello.py").write_text("print('hi')\n")
    (folder / "Dockerfile").write_text(
        "FROM debian\n"
        "RUN apt-get update && apt-get install -y --no-install-recommends \\\n"
        "      sqlite3 cron \\\n"
        "    && rm -rf /var/lib/apt/lists/*\n"
        "WORKDIR /app\n"
        "COPY hello.py .\n"
        "RUN useradd -m dev && chown -R dev:dev /app\n"
        "USER dev\n"
        "RUN echo 'create table t(x);' | sqlite3 t.db && id -un > who\n"
    )
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    image = build(load_plan("task"), tell=print)
    files = files_of(image)
    assert content(image, "app/who") == b"dev\n"
    assert files["app/t.db"].uid == files["app/hello.py"].uid == 1000
    # cron's package wanted to start it; nothing was started, and the ban is not in the image.
    assert "run/crond.pid" not in files and "usr/sbin/policy-rc.d" not in files
    built_in = (kept / "images").resolve()
    assert str(built_in) not in Path("/proc/self/mounts").read_text()
