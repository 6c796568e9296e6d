"""`task check --untrusted`: what Python that nobody has read can reach of this machine."""

from __future__ import annotations

import errno
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import agentgym
from agentgym.authoring import quarantine as module
from agentgym.authoring import quarantine_limits as limits
from agentgym.authoring.quarantine import Quarantine
from agentgym.authoring.scaffold import new_task
from agentgym.cli.app import app
from agentgym.records import Limits
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.sandbox.control_group import ControlGroup

PROBLEMS = BubblewrapProvider().problems()
pytestmark = [
    pytest.mark.skipif(bool(PROBLEMS), reason=f"bubblewrap cannot run: {PROBLEMS}"),
    pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed"),
]

SPY = r"""
import ctypes, json, os, platform, socket, subprocess, sys
from pathlib import Path
secret, mine, port, out = sys.argv[1:5]

def tried(deed):
    try:
        return deed() or "done"
    except Exception as error:
        return type(error).__name__

def keys():
    # Name the session keyring, which is inherited from the host.
    kernel = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 250, "aarch64": 219}[platform.machine()]
    if kernel.syscall(number, 0, -3, 0) < 0:
        raise OSError(ctypes.get_errno(), "keyctl")
    return "named"

found = {
    "secret": tried(lambda: Path(secret).read_text()),
    "write": tried(lambda: Path(mine, "owned").write_text("x")),
    "system": tried(lambda: Path("/usr/owned").write_text("x")),
    "read": tried(lambda: Path(mine, "task.toml").read_text()),
    "connect": tried(lambda: socket.create_connection(("127.0.0.1", int(port)), 2)),
    "docker": os.path.exists("/var/run/docker.sock"),
    "variable": os.environ.get("OPENAI_API_KEY"),
    "processes": sum(name.isdigit() for name in os.listdir("/proc")),
    "root": tried(lambda: os.setuid(0)),
    "hypervisor": tried(lambda: socket.socket(socket.AF_VSOCK) and "open"),
    "keys": tried(keys),
    "import": tried(lambda: __import__("agentgym") and "yes"),
    "sandbox": subprocess.run(
        ["bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--unshare-all", "true"]
    ).returncode,
}
Path(out).write_text(json.dumps(found))
print("\x1b]0;title\x07 said", flush=True)
print("complained", file=sys.stderr)
sys.exit(7)
"""


def test_python_of_a_task_reaches_nothing_of_this_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ENTRY", SPY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text("the user's")
    folder = tmp_path / "suite" / "task"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text("a task")
    heard = []
    with socket.create_server(("127.0.0.1", 0)) as server, Quarantine([folder]) as quarantine:
        words = [tmp_path / "secret", folder, server.getsockname()[1], quarantine.report_path]
        code = quarantine.run(list(map(str, words)), lambda *line: heard.append(line))
        found = json.loads(quarantine.report())
        cache = Path(quarantine.report_path).parent
    assert code == 7
    assert sorted(heard) == [("\x1b]0;title\x07 said", False), ("complained", True)]
    assert found == {
        "secret": "FileNotFoundError",
        "write": "OSError",
        "system": "OSError",
        "read": "a task",
        "connect": found["connect"],
        "docker": False,
        "variable": None,
        "processes": found["processes"],
        "root": "PermissionError",
        "hypervisor": "OSError",
        "keys": "PermissionError",
        "import": "yes",
        "sandbox": 0,
    }
    assert found["connect"] in ("OSError", "ConnectionRefusedError", "TimeoutError")
    assert found["processes"] < 6
    assert not cache.exists() and not (folder / "owned").exists()


def test_the_modules_are_those_of_the_caller_and_none_of_the_working_directory(
    tmp_path, monkeypatch
):
    (own := tmp_path / "own").mkdir()
    (own / "helper.py").write_text("NAME = 'own'")
    (here := tmp_path / "here").mkdir()
    for name in ("helper", "json", "typer"):
        (here / f"{name}.py").write_text("NAME = 'here'")
    monkeypatch.syspath_prepend(str(own))
    monkeypatch.chdir(here)
    entry = "import helper, json, typer, agentgym; print(helper.NAME, agentgym.__file__)"
    monkeypatch.setattr(module, "_ENTRY", f"{entry}; json.dumps; typer.echo")
    heard = []
    with Quarantine([here]) as quarantine:
        assert quarantine.run([], lambda *line: heard.append(line)) == 0, heard
    assert heard == [(f"own {agentgym.__file__}", False)]


LOOK = """
import json, os, socket, sys
from pathlib import Path
def connect(name):
    with socket.socket(socket.AF_UNIX) as mine:
        return mine.connect_ex(name)
import helper, helpers.inner
os.chdir(sys.argv[1])  # the name of a socket is short
found = {
    "seen": sorted(os.listdir(sys.argv[1])),
    "connected": connect("service"),
    "agentgym": bool(__import__("agentgym")),
}
Path(sys.argv[2]).write_text(json.dumps(found))
"""


def test_of_a_folder_of_sources_only_its_modules_are_there(tmp_path, monkeypatch):
    # As the working directory is on the path for `python -m agentgym`, and a checkout for a
    # package that is installed from it.
    sources = tmp_path / "sources"
    for name in ("helper.py", "helpers/__init__.py", "helpers/inner.py", ".env", ".git/config"):
        (sources / name).parent.mkdir(parents=True, exist_ok=True)
        (sources / name).touch()
    (task := tmp_path / "suite" / "task").mkdir(parents=True)
    monkeypatch.setattr(module, "_ENTRY", "import sys; sys.path.insert(0, sys.argv[1])\n" + LOOK)
    monkeypatch.syspath_prepend(str(sources))
    with socket.socket(socket.AF_UNIX) as service, Quarantine([task]) as quarantine:
        monkeypatch.chdir(sources)
        service.bind("service")
        os.chmod("service", 0o777)
        service.listen()
        heard = []
        words = [str(sources), quarantine.report_path]
        assert quarantine.run(words, lambda *line: heard.append(line)) == 0, heard
        found = json.loads(quarantine.report())
    assert found == {
        "seen": ["helper.py", "helpers"],
        "connected": errno.ENOENT,
        "agentgym": True,
    }


def test_a_report_that_is_a_link_is_not_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ENTRY", "import os, sys; os.symlink('/etc/passwd', sys.argv[1])")
    with Quarantine([tmp_path]) as quarantine:
        assert quarantine.run([quarantine.report_path], lambda *line: None) == 0
        with pytest.raises(Exception, match="report.json is a symbolic link"):
            quarantine.report()


def test_what_comes_out_cannot_steer_the_terminal(tmp_path, monkeypatch):
    folder = tmp_path / "suite" / "task"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('id = "suite/task-v1"')
    said = "print('\\x1b]0;title\\x07' + 'x' * 10000)"
    monkeypatch.setattr(module, "_ENTRY", f"{said}; raise SystemExit(3)")
    done = CliRunner().invoke(app, ["task", "check", "--untrusted", str(folder)])
    assert done.exit_code == 3
    assert "\x1b" not in done.output and r"\x1b]0;title" in done.output


def test_a_check_that_ends_without_a_report_is_no_success(tmp_path, monkeypatch):
    folder = tmp_path / "suite" / "task"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('id = "suite/task-v1"')
    monkeypatch.setattr(module, "_ENTRY", "import os; os._exit(0)")  # as a checks.py may
    done = CliRunner().invoke(app, ["task", "check", "--untrusted", str(folder)])
    assert done.exit_code == 1 and "ended without a report" in done.output


EATER = """
import ctypes, os, sys, time
held = []
if sys.argv[1] == "processes":
    try:
        for _ in range(400):
            if os.fork() == 0:
                time.sleep(60)
            print("one")
    except BlockingIOError:
        print("no more")
    os.kill(-1, 9)
if sys.argv[1] == "memory":
    for _ in range(20):
        held.append(b"x" * (50 << 20))
    print("had it")
if sys.argv[1] == "disk":
    open(sys.argv[2], "wb").write(b"x" * (8 << 20))
    time.sleep(60)
"""


@pytest.mark.parametrize("what", ["processes", "memory", "disk"])
def test_python_of_a_task_exhausts_nothing_of_this_machine(tmp_path, monkeypatch, what):
    monkeypatch.setattr(module, "_ENTRY", EATER)
    monkeypatch.setattr(limits, "_PIDS", 100)
    monkeypatch.setattr(limits, "_MEMORY_SHARE", (200 << 20) / _memory())
    if what == "disk":
        monkeypatch.setattr(limits, "_RESERVE_BYTES", 2**60)
        monkeypatch.setattr(limits, "_RESERVE_SHARE", 1.0)
    if what == "memory":
        probe = ControlGroup.create(f"{os.getpid()}-a-probe", Limits())
        if probe is None:
            pytest.skip("no control groups here")
        probe.remove()
    heard = []
    with Quarantine([tmp_path]) as quarantine:
        code = quarantine.run([what, quarantine.report_path], lambda *line: heard.append(line))
    said = [text for text, _ in heard]
    if what == "processes":
        assert "no more" in said and said.count("one") < 100
    else:
        assert code != 0 and "had it" not in said
    if what == "disk":
        assert said == ["it was ended, because the disk of this machine is almost full"]


def test_output_without_end_is_cut(tmp_path, monkeypatch):
    printing = "import sys; print('x' * 999_999); print('y', file=sys.stderr); sys.exit(4)"
    monkeypatch.setattr(module, "_ENTRY", printing)
    monkeypatch.setattr(module, "_OUTPUT_BYTES", 100_000)
    heard = []
    with Quarantine([tmp_path]) as quarantine:
        assert quarantine.run([], lambda *line: heard.append(line)) == 4
    printed = [text for text, is_error in heard if not is_error]
    assert len("".join(printed)) < 110_000
    assert printed[-1] == "(it printed more than 100000 bytes; the rest is left out)"
    assert ("y", True) in heard


def test_a_command_that_does_not_end_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_ENTRY", "import time; time.sleep(600)")
    monkeypatch.setattr(module, "_A_FOLDER_S", 2)
    heard = []
    with Quarantine([tmp_path]) as quarantine:
        assert quarantine.run([], lambda *line: heard.append(line)) == 137
    assert heard == [("it was ended, because it took more than 2 s", True)]


def test_a_terminated_check_leaves_nothing_behind(tmp_path):
    folder = new_task("terminal/example", env="terminal", template=False, root=tmp_path)
    (folder / "checks" / "checks.py").write_text(
        "import time\nprint('begun', flush=True)\nwhile True: time.sleep(1)\n"
    )
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    words = ["from agentgym.cli import main; main()", "task", "check", "--untrusted", str(folder)]
    with subprocess.Popen(
        [sys.executable, "-c", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TMPDIR": str(temporary)},
    ) as check:
        assert check.stdout is not None
        assert check.stdout.readline() == b"begun\n"
        assert len(os.listdir(temporary)) == 1
        check.terminate()
        assert check.wait(60) == 143
    assert os.listdir(temporary) == []


def test_a_judge_that_cannot_be_reached_is_refused(tmp_path):
    folder = tmp_path / "suite" / "task"
    folder.mkdir(parents=True)
    (folder / "task.toml").write_text('id = "suite/task-v1"')
    words = ["task", "check", "--untrusted", str(folder), "--judge", "openai:m"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code != 0
    assert "has no network" in str(done.exception) + done.output


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["example", pytest.param("git-repair", marks=pytest.mark.full)])
def test_a_sound_task_is_found_sound_from_inside(name, tmp_path):
    if name == "example":
        folder = new_task("terminal/example", env="terminal", template=True, root=tmp_path)
    else:
        folder = tmp_path / "terminal" / name
        shutil.copytree(Path(__file__).resolve().parents[2] / "tasks/terminal" / name, folder)
    report = tmp_path / "report.json"
    words = ["task", "check", "--untrusted", str(folder), "--seeds", "1", "--json", str(report)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert json.loads(report.read_text())["sound"] is True
    assert os.listdir(folder.parent) == [name] and sys.executable
