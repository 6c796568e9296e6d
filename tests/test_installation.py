"""The install lines: right for each way of installing, and run in a fresh environment."""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote

import pytest

from agentgym import installation
from agentgym.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = [
    *(
        path
        for top in ("agentgym", "verifiers", "envs", "docs")
        for path in (ROOT / top).rglob("*")
    ),
    ROOT / "README.md",
]
TEXTS = {
    path: path.read_text() for path in SOURCES if path.suffix in {".py", ".md", ".toml", ".sh"}
}


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """Makes the running package look as if it had been installed from somewhere."""

    def install(origin: dict | None, name: str = "agentgym-suite") -> None:
        (tmp_path / "agentgym").symlink_to(ROOT / "agentgym")
        info = tmp_path / f"{name.replace('-', '_')}-0.1.0.dist-info"
        info.mkdir()
        requires = "Requires-Dist: docker<8,>=7; extra == 'docker'\n"
        requires += (
            'Requires-Dist: no-such-thing>=1 ; extra == "other"\nRequires-Dist: rich>=13.7\n'
        )
        head = f"Metadata-Version: 2.4\nName: {name}\nVersion: 0.1.0\n"
        (info / "METADATA").write_text(head + requires)
        if origin is not None:
            (info / "direct_url.json").write_text(json.dumps(origin))
        monkeypatch.syspath_prepend(tmp_path)

    return install


def given(extra: str) -> list[str]:
    return shlex.split(installation.arguments(extra))


def test_a_checkout_without_metadata_is_installed_as_a_checkout(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT)])
    assert given("docker") == ["-e", f"{ROOT}[docker]"]


def test_another_copy_s_metadata_is_not_this_one_s(tmp_path, copy):
    copy(None)
    (tmp_path / "agentgym").unlink()
    assert given("docker") == ["-e", f"{ROOT}[docker]"]


def test_from_an_index(copy):
    copy(None)
    assert given("docker") == ["agentgym-suite[docker]"]


def test_from_a_folder(copy):
    copy({"url": ROOT.as_uri(), "dir_info": {}})
    assert given("mcp") == [f"{ROOT}[mcp]"]


def test_from_an_editable_folder(copy):
    copy({"url": ROOT.as_uri(), "dir_info": {"editable": True}})
    assert given("mcp") == ["-e", f"{ROOT}[mcp]"]


def test_from_a_wheel_with_a_space_in_its_path(tmp_path, copy):
    wheel = tmp_path / "my wheels" / "agentgym_suite-0.1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    wheel.touch()
    copy({"url": wheel.as_uri(), "archive_info": {}})
    assert given("mcp") == [f"agentgym-suite[mcp] @ {wheel.as_uri()}"]
    assert "my%20wheels" in wheel.as_uri()


def test_from_a_wheel_that_is_gone(tmp_path, copy):
    copy({"url": (tmp_path / "gone.whl").as_uri(), "archive_info": {}})
    assert given("docker") == ["docker<8,>=7"]


def test_from_a_wheel_on_a_server(copy):
    copy({"url": "https://example.com/agentgym_suite-0.1.0-py3-none-any.whl", "archive_info": {}})
    wheel = "https://example.com/agentgym_suite-0.1.0-py3-none-any.whl"
    assert given("mcp") == [f"agentgym-suite[mcp] @ {wheel}"]


def test_from_git(copy):
    source = {"vcs": "git", "commit_id": "0" * 40, "requested_revision": "main"}
    copy({"url": "https://example.com/my gym.git", "vcs_info": source, "subdirectory": "python"})
    url = f"git+https://example.com/my%20gym.git@{'0' * 40}#subdirectory=python"
    assert given("mcp") == [f"agentgym-suite[mcp] @ {url}"]


def test_from_a_git_repository_of_this_machine(copy):
    copy({"url": ROOT.as_uri(), "vcs_info": {"vcs": "git", "commit_id": "0" * 40}})
    assert given("docker") == ["docker<8,>=7"]


def test_extras_with_absent_packages_are_named(copy):
    copy(None)
    assert installation.absent_extras()["other"] == ["no-such-thing"]
    assert "" not in installation.absent_extras()


def test_the_installer_is_that_of_the_running_python(tmp_path, monkeypatch):
    def line() -> list[str]:
        return shlex.split(installation.install_line("mcp"))

    monkeypatch.setenv("PATH", str(tmp_path))
    assert line()[:4] == [sys.executable, "-m", "pip", "install"]
    for name in ("pip", "python"):
        (tmp_path / name).touch(mode=0o755)
    assert line()[:4] == [sys.executable, "-m", "pip", "install"]  # another environment's pip
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    assert line()[:2] == ["pip", "install"]


def test_every_extra_that_is_named_exists():
    extras = PROJECT["optional-dependencies"]
    named = r'(?:missing_extra\([^()]*, |install_line\(|arguments\()"(\w+)"'
    found = {name for text in TEXTS.values() for name in re.findall(named, text)}
    found |= {
        name
        for text in TEXTS.values()
        for name in re.findall(r"pip install -e '\.\[(\w+)\]'", text)
    }
    assert {"docker", "mcp", "data", "office", "reports", "tau2"} <= found <= extras.keys()


def test_nobody_is_told_to_install_the_stranger():
    wrong = re.compile(
        r"agentgym\[|(?:pip install|uv add|uvx|pipx \w+)\s+(?:-\S+ )*['\"]?agentgym\b(?!-)"
    )
    assert not {str(path) for path, text in TEXTS.items() if wrong.search(text)}
    assert PROJECT["name"] == installation.DISTRIBUTION == "agentgym-suite"


# An import that needs an extra, as a user meets it.
_PROGRAM = "from agentgym.verify.documents import parse; parse(b'a: 1', 'yaml', 'a.yaml')"
_TOP = (
    "agentgym",
    "envs",
    "sandboxes",
    "tasks",
    "verifiers",
    "pyproject.toml",
    "README.md",
    "LICENSE",
)


def _run(*command: object, cwd: Path, ok: bool | None = True, **environment: str) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=280,
        env={"PATH": "/usr/bin:/bin", **_index(), **environment},
    )
    assert ok is None or (done.returncode == 0) == ok, done.stdout + done.stderr
    return done.stdout + done.stderr


def _index() -> dict[str, str]:
    kept = re.compile(
        r"HOME$|PIP_|UV_|SSL_|REQUESTS_|[A-Za-z]+_(?:proxy|PROXY)$|TMPDIR|XDG_CACHE_HOME"
    )
    return {name: value for name, value in os.environ.items() if kept.match(name)}


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    """An environment with what agentgym needs and without agentgym."""
    place = tmp_path_factory.mktemp("fresh")
    _run(sys.executable, "-m", "venv", place / "venv", cwd=place)
    needed = PROJECT["dependencies"]
    said = _run(
        place / "venv/bin/python", "-m", "pip", "install", "-q", *needed, cwd=place, ok=None
    )
    if "No matching distribution" in said or "Could not fetch" in said:
        pytest.skip(f"no package index answers: {said[-200:]}")
    return place / "venv"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """A Git repository with the sources of this checkout."""
    place = tmp_path_factory.mktemp("project") / "agent gym"
    place.mkdir()
    for name in _TOP:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, place / name)
    git = ("git", "-c", "user.name=t", "-c", "user.email=t@example.com")
    for command in ("init -q", "add -A", "commit -q -m all", "update-server-info"):
        _run(*git, *command.split(), cwd=place)
    return place


@pytest.fixture(scope="module")
def server(project: Path) -> Iterator[str]:
    """The URL of that repository on a server that hands out files."""
    handler = functools.partial(_Files, directory=str(project.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as files:
        threading.Thread(target=files.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{files.server_port}/{quote(project.name)}/.git"
        files.shutdown()


class _Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _wheel(project: Path) -> Path:
    target = project.parent / "wheels"
    if not target.exists():
        _run(
            sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", target, project, cwd=ROOT
        )
    (wheel,) = target.glob("agentgym_suite-*.whl")
    return wheel


@pytest.mark.full
@pytest.mark.timeout(1200)  # an index may be slow, and packages are built
def test_the_wheel_carries_the_licence(project):
    with zipfile.ZipFile(_wheel(project)) as wheel:
        (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
        assert wheel.read(f"{info}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
        assert b"\nLicense-Expression: Apache-2.0\n" in wheel.read(f"{info}/METADATA")


@pytest.mark.full
@pytest.mark.timeout(1200)  # an index may be slow, and packages are built
@pytest.mark.parametrize("kind", ["editable", "wheel", "git", "index"])
def test_the_printed_line_brings_the_extra(kind, tmp_path, fresh, project, server):
    shutil.copytree(fresh, tmp_path / "venv", symlinks=True, copy_function=os.link)
    (tmp_path / "venv/bin/pip").unlink()  # its first line names the other environment
    python = tmp_path / "venv/bin/python"
    wheels = {"PIP_FIND_LINKS": str(_wheel(project).parent)} if kind == "index" else {}
    source = {
        "editable": ("-e", project),
        "wheel": (_wheel(project),),
        "git": (f"git+{server}",),
        "index": ("agentgym-suite",),
    }[kind]
    pip = (python, "-m", "pip", "install", "-q", "--no-deps")
    _run(*pip, *source, cwd=tmp_path, **wheels)
    said = _run(python, "-c", _PROGRAM, cwd=tmp_path, ok=False)
    assert MissingExtraError.__name__ in said
    line = said.strip().rpartition("run: ")[2]
    assert str(python) in line and "[data]" in line
    _run("sh", "-c", f"{line} -q", cwd=tmp_path, **wheels)
    assert _run(python, "-c", _PROGRAM, cwd=tmp_path) == ""
    assert "agentgym_suite" in _run(python, "-m", "pip", "freeze", cwd=tmp_path).replace("-", "_")
