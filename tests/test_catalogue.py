"""The search path, what is found on it, and how users may name tasks."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from agentgym import catalogue
from agentgym.errors import ConfigError, NotFoundError, TaskError
from agentgym.manifest import show_path
from agentgym.services.load import find_services
from agentgym.task.load import find_task
from agentgym.verify.worker.frames import answer, tell
from agentgym.verify.worker.pool import WORKERS
from agentgym.verify.worker.session import Job

RUBRIC = """\
schema_version = "agentgym.rubric/1"

[[checkpoint]]
id = "there"
use = "files.exists"
with = { path = "/x" }
"""

CHECKOUT = Path(__file__).resolve().parent.parent


def put(root: Path, name: str, text: str = "") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path.parent


def put_task(root: Path, name: str, version: int = 1) -> Path:
    return put(root, f"tasks/{name}/task.toml", f'title = "t"\nid = "{name}-v{version}"\n')


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and nothing else on the search path but what is bundled."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AGENTGYM_PATH", raising=False)
    return tmp_path


def test_a_checkout_finds_the_folders_beside_the_package(user: Path) -> None:
    assert catalogue.search_path() == (CHECKOUT, user)
    assert catalogue.find("sandboxes", "host") == CHECKOUT / "sandboxes" / "host"


def test_a_deleted_working_directory_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    monkeypatch.delenv("AGENTGYM_PATH", raising=False)
    assert catalogue.search_path() == (CHECKOUT,)
    assert show_path(Path("task.toml")) == "task.toml"
    assert show_path(tmp_path / "task.toml") == str(tmp_path / "task.toml")
    monkeypatch.setenv("AGENTGYM_CACHE", "cache")
    with pytest.raises(ConfigError, match="'cache', below a working directory that was deleted"):
        catalogue.cache_dir()


def test_a_wheel_finds_the_folders_inside_the_package(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = user / "site-packages" / "agentgym"
    put(package, "_catalogues/envs/shipped/env.toml")
    put(package.parent, "envs/of-another-program/env.toml")
    monkeypatch.setattr(catalogue, "__file__", str(package / "catalogue.py"))
    assert list(catalogue.folders("envs")) == ["shipped"]


def test_path_entries_come_in_order_each_once(user: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (user / name).mkdir()
    entries = ["a", "", str(user / "b"), "a", str(CHECKOUT), str(user)]
    monkeypatch.setenv("AGENTGYM_PATH", os.pathsep.join(entries))
    assert catalogue.search_path() == (CHECKOUT, user / "a", user / "b", user)


def test_imported_suites_come_after_the_bundled_ones(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_CACHE", str(user / "cache"))
    assert catalogue.search_path() == (CHECKOUT, user)
    put_task(user / "cache/imported", "theirs/task")
    assert catalogue.search_path() == (CHECKOUT, user / "cache/imported", user)
    assert catalogue.match_tasks("theirs") == ["theirs/task-v1"]


def test_a_path_entry_that_is_no_folder_is_named(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTGYM_PATH", f"{user}{os.pathsep}/no/such/place")
    with pytest.raises(ConfigError, match="'/no/such/place'.*not a folder"):
        catalogue.folders("envs")


def test_roots_may_hold_any_part_of_the_catalogues_and_later_ones_replace(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = user / "first", user / "second"
    put(first, "envs/one/env.toml")
    put(first, "verifiers/pack/checks.py")
    put(second, "envs/one/env.toml")
    put(user, "sandboxes/mine/recipe.toml")
    put_task(first, "suite/task", version=1)
    put_task(second, "suite/task", version=2)
    monkeypatch.setenv("AGENTGYM_PATH", f"{first}{os.pathsep}{second}")
    assert catalogue.find("envs", "one") == second / "envs/one"
    assert catalogue.find("verifiers", "pack") == first / "verifiers/pack"
    assert catalogue.find("sandboxes", "mine") == user / "sandboxes/mine"
    assert catalogue.match_tasks("suite") == ["suite/task-v2"]


KINDS = {"verifiers": "files", "envs": "terminal", "sandboxes": "host"}
MARKERS = {"verifiers": "checks.py", "envs": "env.toml", "sandboxes": "recipe.toml"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", ["working directory", "AGENTGYM_PATH", "imported"])
def test_no_folder_that_lies_about_replaces_a_bundled_one(
    user: Path, monkeypatch: pytest.MonkeyPatch, kind: catalogue.Kind, place: str
) -> None:
    name, root = KINDS[kind], user
    if place == "AGENTGYM_PATH":
        root = user / "catalogue"
        monkeypatch.setenv("AGENTGYM_PATH", str(root))
    if place == "imported":
        root = user / "cache/imported"
        monkeypatch.setenv("AGENTGYM_CACHE", str(user / "cache"))
    put(root, f"{kind}/{name}/{MARKERS[kind]}", "raise SystemExit\n")
    words = rf"{name!r} of the {place} .* would replace the bundled one .*SHADOW={kind}/{name}"
    with pytest.raises(ConfigError, match=words):
        catalogue.find(kind, name)
    assert catalogue.folders(kind)[name] == CHECKOUT / kind / name


@pytest.mark.parametrize("version", [1, 2])
def test_no_task_that_lies_about_replaces_a_bundled_one(user: Path, version: int) -> None:
    put_task(user, "terminal/git-repair", version)
    with pytest.raises(ConfigError, match="task 'terminal/git-repair' of the working directory"):
        catalogue.find("tasks", f"terminal/git-repair-v{version}")
    assert "terminal/git-repair-v1" in catalogue.match_tasks("terminal")


def test_the_working_directory_replaces_nothing_of_the_path(
    user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(user / "named", "verifiers/pack/checks.py")
    put(user, "verifiers/pack/checks.py", "mine = 1\n")
    monkeypatch.setenv("AGENTGYM_PATH", str(user / "named"))
    with pytest.raises(ConfigError, match="would replace the AGENTGYM_PATH one"):
        catalogue.find("verifiers", "pack")


def test_services_of_a_bundled_environment_are_not_replaced(user: Path) -> None:
    put(user, "envs/office/services/mail/service.py", "raise SystemExit\n")
    with pytest.raises(ConfigError, match="environment 'office' of the working directory"):
        find_services("office")


@pytest.mark.parametrize("asked", ["verifiers/files", "tasks/x, verifiers/*", "*"])
def test_who_asks_for_it_may_replace_a_bundled_folder_and_is_told(
    user: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    asked: str,
) -> None:
    mine = put(user, "verifiers/files/checks.py", "mine = 1\n")
    monkeypatch.setenv("AGENTGYM_SHADOW", asked)
    assert catalogue.find("verifiers", "files") == mine
    assert catalogue.folders("verifiers")["files"] == mine
    (told,) = [one.getMessage() for one in caplog.records]
    assert told.startswith(f"warning: check pack 'files' is {mine} in place of {CHECKOUT}")


def test_workers_do_not_tell_again_what_replaces_what(
    user: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    put(user, "verifiers/files/checks.py", "mine = 1\n")
    checks = put(user, "checks/rubric.toml", RUBRIC)
    monkeypatch.setenv("AGENTGYM_SHADOW", "*")
    worker = WORKERS.lend()
    try:
        tell(worker.socket, ("open", Job(checks, {}, str(user), dict(os.environ))))
        refused, _ = answer(worker.socket, time.monotonic() + 60)
    finally:
        worker.kill()
    assert "files/pack.toml" in refused["refused"], "it has looked at mine, and that is not whole"
    assert "warning" not in capfd.readouterr().err


def test_a_copy_of_a_bundled_folder_replaces_nothing_and_is_no_obstacle(user: Path) -> None:
    shutil.copytree(CHECKOUT / "verifiers/files", user / "verifiers/files")
    assert catalogue.find("verifiers", "files") == CHECKOUT / "verifiers/files"


def test_folders_of_other_programs_are_not_taken_for_ours(user: Path) -> None:
    (user / "envs/venv/bin").mkdir(parents=True)
    (user / "tasks/main.yml").parent.mkdir()
    (user / "tasks/main.yml").write_text("- name: an Ansible role\n")
    (user / "tasks/suite/notes").mkdir(parents=True)
    assert not [f for f in catalogue.folders("envs").values() if f.is_relative_to(user)]
    assert not [f for f in catalogue.folders("tasks").values() if f.is_relative_to(user)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('id = "s/t-v3"', "s/t-v3"),
        ("title = 'x'\n  id='other/name-v12'\n", "s/t-v12"),
        ('id = "s/t"', "s/t"),
        ('# id = "s/t-v9"', "s/t"),
        ('my_id = "s/t-v9"', "s/t"),
        ("\udcff", "s/t"),
        ("", "s/t"),
    ],
)
def test_the_version_of_a_task_is_read_from_its_id(user: Path, text: str, name: str) -> None:
    put(user, "tasks/s/t/task.toml")
    (user / "tasks/s/t/task.toml").write_bytes(text.encode(errors="surrogateescape"))
    assert catalogue.find("tasks", name) == user / "tasks/s/t"


@pytest.fixture
def three_tasks(user: Path) -> None:
    put_task(user, "zoo/git-feed")
    put_task(user, "zoo/cage")
    put_task(user, "yard/git-mow", version=2)


@pytest.mark.parametrize(
    ("pattern", "ids"),
    [
        ("zoo", ["zoo/cage-v1", "zoo/git-feed-v1"]),
        ("zoo/*", ["zoo/cage-v1", "zoo/git-feed-v1"]),
        ("yard/git-mow", ["yard/git-mow-v2"]),
        ("yard/git-mow-v2", ["yard/git-mow-v2"]),
        ("[yz]*/git-*", ["yard/git-mow-v2", "zoo/git-feed-v1"]),
        ("*cage*", ["zoo/cage-v1"]),
    ],
)
@pytest.mark.usefixtures("three_tasks")
def test_tasks_are_matched_by_suite_id_and_glob(pattern: str, ids: list[str]) -> None:
    assert catalogue.match_tasks(pattern) == ids


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        ("zooo", "zoo"),
        ("git-mow", "yard/git-mow-v2"),
        ("yard/git-mow-v1", "yard/git-mow-v2"),
        ("zoo/cgae", "zoo/cage-v1"),
    ],
)
@pytest.mark.usefixtures("three_tasks")
def test_a_mistyped_task_offers_the_close_match(pattern: str, match: str) -> None:
    with pytest.raises(NotFoundError, match="no task named") as caught:
        catalogue.match_tasks(pattern)
    assert caught.value.matches[0] == match


@pytest.mark.usefixtures("three_tasks")
def test_a_name_without_a_version_means_the_one_there_is() -> None:
    assert catalogue.with_version("yard/git-mow") == "yard/git-mow-v2"
    for name in ("yard/git-mow-v2", "yard/git-mow-v1", "yard/git", "yard", "./yard/git-mow", ""):
        assert catalogue.with_version(name) == name


def test_a_task_is_found_by_a_name_without_its_version() -> None:
    assert find_task("terminal/git-repair").id == "terminal/git-repair-v1"


@pytest.mark.usefixtures("three_tasks")
def test_a_suite_is_told_from_a_task() -> None:
    with pytest.raises(NotFoundError, match="suite: name one of its tasks, as yard/git-mow-v2"):
        find_task("yard")


@pytest.mark.parametrize("place", ["", "./", "~/", "zoo/"])
@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"], ids=["long", "null", "surrogate"])
@pytest.mark.usefixtures("three_tasks")
def test_a_path_that_no_file_system_can_hold_is_not_found(place: str, name: str) -> None:
    with pytest.raises(NotFoundError, match="no task"):
        catalogue.match_tasks(place + name)
    with pytest.raises((NotFoundError, TaskError)):
        find_task(place + name)
    with pytest.raises(NotFoundError):
        catalogue.find("envs", name)


def test_not_found_says_what_makes_a_folder_and_where_it_looked(user: Path) -> None:
    with pytest.raises(NotFoundError) as caught:
        catalogue.find("sandboxes", "hots")
    assert "no sandbox recipe named 'hots'; did you mean 'host'?" in str(caught.value)
    assert "recipe.toml below sandboxes/" in str(caught.value)
    assert str(user) in str(caught.value)


@pytest.mark.parametrize(
    ("environment", "uid", "expected"),
    [
        ({"AGENTGYM_CACHE": "/c", "XDG_CACHE_HOME": "/x", "HOME": "/h"}, 1000, "/c"),
        ({"AGENTGYM_CACHE": "/c", "HOME": "/h"}, 0, "/c"),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, 1000, "/x/agentgym"),
        ({"HOME": "/h"}, 1000, "/h/.cache/agentgym"),
        ({"AGENTGYM_CACHE": "", "XDG_CACHE_HOME": "", "HOME": "/h"}, 1000, "/h/.cache/agentgym"),
        ({"HOME": "/root"}, 0, "/var/cache/agentgym"),
    ],
)
def test_the_cache_is_where_the_user_put_it_and_never_in_roots_home(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], uid: int, expected: str
) -> None:
    for name in ("AGENTGYM_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    assert catalogue.cache_dir() == Path(expected)


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    def unknown():
        raise RuntimeError("Could not determine home directory.")

    for name in ("AGENTGYM_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(catalogue.os, "geteuid", lambda: 1_879_000_001)
    monkeypatch.setattr(catalogue.Path, "home", unknown)
    with pytest.raises(ConfigError, match="no home folder; set AGENTGYM_CACHE"):
        catalogue.cache_dir()
