"""What `import agentgym` gives, and what it must not do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import agentgym

ROOT = Path(agentgym.__file__).parents[1]

NAMES = [
    "Action",
    "Agent",
    "AgentGymError",
    "Briefing",
    "ByteText",
    "CheckResult",
    "CheckStatus",
    "Decision",
    "DiscreteCalls",
    "Environment",
    "Episode",
    "Evidence",
    "ExecResult",
    "FileTree",
    "GuestFileError",
    "Observation",
    "Room",
    "SandboxProvider",
    "Step",
    "ToolSpec",
    "Verdict",
    "VerifierError",
    "evaluate",
    "make",
    "open_environment",
]

# Runs in a fresh process. Audit events tell of everything that touches the outside.
QUIET = """
import sys

touched = []

def audit(event, args):
    if event.startswith(("socket.", "subprocess.", "os.mkdir", "os.remove", "os.rename")):
        touched.append((event, args))
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        touched.append((event, args))

sys.dont_write_bytecode = True
sys.addaudithook(audit)
before = set(sys.modules)
import agentgym
import threading

assert not touched, touched
assert threading.active_count() == 1
heavy = {"pydantic", "jsonschema", "openai", "jinja2", "torch", "rich", "typer", "PIL"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
assert agentgym.Environment.__name__ == "Environment"
"""


def python(code, cwd, **env):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_public_names_are_these():
    assert agentgym.__all__ == NAMES
    assert len(agentgym.__all__) <= 25


def test_every_public_name_can_be_had():
    for name in NAMES:
        assert getattr(agentgym, name) is not None
        assert name in dir(agentgym)
    exec("from agentgym import *", taken := {})
    assert set(NAMES) <= set(taken)


def test_public_names_come_from_where_they_are_made():
    from agentgym.env.environment import Environment
    from agentgym.records import Action

    assert agentgym.Environment is Environment
    assert agentgym.Action is Action


def test_other_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="'agentgym' has no attribute 'nothing'"):
        _ = agentgym.nothing


def test_importing_does_nothing(tmp_path):
    home = tmp_path / "home"
    empty = tmp_path / "empty"
    home.mkdir()
    empty.mkdir(mode=0o555)
    done = python(QUIET, empty, HOME=str(home))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list(empty.iterdir()) == []
    assert list(home.iterdir()) == []


def test_importing_works_where_the_working_directory_is_gone(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    code = f"import os; os.rmdir({str(gone)!r}); import agentgym; print(agentgym.__version__)"
    done = python(code, gone)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{agentgym.__version__}\n", "")


def test_vector_is_imported_on_first_use():
    code = (
        "import sys, agentgym\n"
        "assert 'agentgym.vector' not in sys.modules and 'gymnasium' not in sys.modules\n"
        "assert agentgym.vector.make is sys.modules['agentgym.vector'].make\n"
        "from agentgym.vector import VectorEnvironment\n"
    )
    done = python(code, ROOT)
    assert (done.returncode, done.stderr) == (0, "")
