"""Loading service folders."""

import os
import shutil
import subprocess
import sys

import pytest

from agentgym.installation import install_line
from agentgym.services import Backend, ServiceError, find_services, load_services

CODE = """
from agentgym.services import Service, reads
from .words import WORD

class Echo(Service):
    '''Says a word.'''

    @reads
    def say(self) -> str:
        '''Say it.'''
        return WORD
"""


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "services" / "echo"
    place.mkdir(parents=True)
    (place / "service.py").write_text(CODE)
    (place / "words.py").write_text("WORD = 'one'\n")
    (place / "schema.sql").write_text("CREATE TABLE echo_word (word TEXT);")
    return place


def test_a_folder_is_a_service_until_a_file_changes(folder):
    services = load_services(folder)
    assert load_services(folder.parent) is services
    assert Backend(services).call("echo_say", {}).result == "one"
    assert [table.name for table in services.layout.tables] == ["echo_word"]
    assert not list(folder.rglob("__pycache__"))
    (folder / "words.py").write_text("WORD = 'two'\n")
    os.utime(folder / "words.py", (1, 1))
    assert Backend(load_services(folder)).call("echo_say", {}).result == "two"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = (", "cannot be loaded: SyntaxError"),
        ("import nowhere_to_be_found", "cannot be loaded: ModuleNotFoundError"),
        ("raise SystemExit(0)", "cannot be loaded: SystemExit: 0"),
        ("x = 1", "expected one subclass of Service, got none"),
    ],
)
def test_a_broken_folder_is_told(folder, code, words):
    (folder / "service.py").write_text(code)
    with pytest.raises(ServiceError, match=words):
        load_services(folder)


def test_a_folder_without_services_is_told(tmp_path):
    with pytest.raises(ServiceError, match=r"no service\.py there"):
        load_services(tmp_path)


def test_services_of_several_environments_are_one_set(folder, tmp_path):
    both = find_services("office", "web")
    assert {"mail", "shop", "forum"} <= both.classes.keys()
    assert find_services("office", "web") is both
    assert "shop" not in find_services("office").classes
    again = tmp_path / "other" / "echo"
    shutil.copytree(folder, again)
    with pytest.raises(ServiceError, match="two services have the name 'echo'"):
        load_services(folder, again)


def test_the_core_needs_no_extra():
    program = (
        "import sys\n"
        "for name in ('mcp', 'starlette', 'uvicorn', 'httpx'): sys.modules[name] = None\n"
        "import agentgym.services\n"
        "for name in ('http', 'mcp'):\n"
        "    try: __import__(f'agentgym.services.{name}')\n"
        "    except Exception as error: print(type(error).__name__, error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("MissingExtraError") == 2
    assert done.stdout.count(f"run: {install_line('mcp')}") == 2
