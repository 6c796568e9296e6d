"""Environments of instances: tables, defaults by language, images, and local clones."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from swe_repository import FIRST, commit, git, make_instance, make_repository, write_instances

from agentgym.errors import TaskError
from agentgym.swe.clone import Clone, find_clone, open_clone
from agentgym.swe.instance import EnvironmentSpec
from agentgym.swe.instance_files import read_instances
from agentgym.swe.specs.defaults import declared_requirements, default_spec
from agentgym.swe.specs.image import environment_image
from agentgym.swe.specs.resolve import packages_until, resolve_environment
from agentgym.swe.specs.table import find_spec, load_table
from agentgym.swe.task_folder import folder_name, read_task, write_files, write_task

JUNE = datetime(2025, 6, 1, tzinfo=UTC)


def test_a_later_entry_overrides_an_earlier_one_field_by_field(tmp_path: Path) -> None:
    table = tmp_path / "specs.toml"
    table.write_text(
        'schema_version = "agentgym.swe-specs/1"\n'
        '[[spec]]\nrepo = "ada/tally"\nruntime = "3.8"\nparser = "pytest"\n'
        '[[spec]]\nrepo = "Ada/Tally"\nfrom = "1.10"\nbefore = "2"\nruntime = "3.9"\n'
    )
    found = [
        find_spec("ada/tally", version, [load_table(table)]) for version in ("1.9", "1.10", "2", "")
    ]
    assert [spec and spec.runtime for spec in found] == ["3.8", "3.9", "3.8", "3.8"]
    assert all(spec and spec.parser == "pytest" for spec in found)
    assert find_spec("ada/other", "1", [load_table(table)]) is None


def test_the_bundled_table_is_sound() -> None:
    table = load_table()
    django = find_spec("django/django", "4.2", [table])
    assert django is not None and django.runtime == "3.9" and "{modules}" in django.test_command


def test_requirements_are_read_from_the_files_of_a_repository() -> None:
    files = {
        "pyproject.toml": '[build-system]\nrequires = ["hatchling"]\n[project]\n'
        'dependencies = ["click>=8"]\n[project.optional-dependencies]\ntest = ["pytest-mock"]\n'
        'docs = ["sphinx"]\n[dependency-groups]\ndev = ["ruff", {include-group = "test"}]\n',
        "setup.cfg": "[options]\ninstall_requires =\n  attrs\n  x @ file:///etc/passwd\n",
        "requirements-dev.txt": "-r other.txt\ncoverage==7 # why\ngit+https://x/y\n--index-url z\n",
    }
    assert list(declared_requirements(files.get)) == [
        *("click>=8", "pytest-mock", "ruff", "attrs", "coverage==7", "hatchling"),
        *("setuptools", "wheel"),
    ]
    digits = {"pyproject.toml": f"a = {'9' * 5_000}\n"}
    assert default_spec("python", digits.get).packages == default_spec("python", {}.get).packages
    broken = {"pyproject.toml": "[", "setup.cfg": "x"}
    assert list(declared_requirements(broken.get)) == ["setuptools", "wheel"]


@pytest.mark.parametrize(
    ("files", "command", "parser"),
    [
        ({"go.mod": "module x"}, "go test -json ./...", "go"),
        (
            {"package.json": '{"devDependencies": {"jest": "1"}}'},
            "npx jest --verbose {tests}",
            "jest",
        ),
        ({"package.json": "{}"}, "node --test --test-reporter=tap {tests}", "tap"),
        ({"package.json": "[" * 9999}, "node --test --test-reporter=tap {tests}", "tap"),
    ],
)
def test_defaults_of_other_languages(files: dict[str, str], command: str, parser: str) -> None:
    spec = default_spec("", files.get)
    assert (spec.test_command, spec.parser) == (command, parser)


def test_an_absent_version_of_python_is_replaced_and_told() -> None:
    spec = EnvironmentSpec(language="python", runtime="2.7", packages=("a==1; b",))
    image = environment_image(spec, JUNE)
    assert image.replaced == {"python 2.7": "swe-python"}
    assert "PIP_UPLOADED_PRIOR_TO=2025-06-01T00:00:00Z" in image.dockerfile
    assert "'a==1; b'" in image.dockerfile
    assert environment_image(replace(spec, runtime="3.11"), None).replaced == {}
    with pytest.raises(TaskError, match="no recipe has its toolchain"):
        environment_image(replace(spec, language="cobol"), JUNE)


def test_an_instance_becomes_a_folder_without_later_commits(tmp_path: Path) -> None:
    path = write_instances(tmp_path / "i.jsonl", make_instance(tmp_path / "clones"))
    (instance,) = read_instances(path)
    clone = find_clone(tmp_path / "clones", "ada/tally")
    commit(clone.path, {"later.py": "secret"}, "Later")
    spec = resolve_environment(instance, clone, [])
    folder = write_task(tmp_path / "suite", instance, clone, spec, packages_until(instance, clone))
    task = read_task(folder)
    assert task.pointer.id == "suite/ada__tally-1-v1"
    files = {str(p.relative_to(task.context)) for p in task.context.rglob("*") if p.is_file()}
    assert files == {"Dockerfile", *(f"repository/{name}" for name in FIRST)}
    assert task.tests().gold.paths == ("tally.py",)
    assert task.tests().targets() == ("tests/test_tally.py",)
    # Writing it again replaces it.
    assert write_task(tmp_path / "suite", instance, clone, spec, None) == folder


def test_a_package_that_asks_git_for_its_version_gets_that_of_the_last_tag(tmp_path: Path) -> None:
    (instance,) = read_instances(
        write_instances(tmp_path / "i.jsonl", make_instance(tmp_path / "clones"))
    )
    clone = find_clone(tmp_path / "clones", "ada/tally")
    spec = resolve_environment(instance, clone, [])
    for tag, expected in (("v2.4.0rc1", "2.4.0"), ("latest", "1.0.0"), ("", "1.0.0")):
        if tag:
            git(clone.path, "tag", tag)
        folder = write_task(tmp_path / "suite", instance, clone, spec, JUNE)
        text = (folder / "environment/Dockerfile").read_text()
        assert f"SETUPTOOLS_SCM_PRETEND_VERSION={expected};" in text
        if tag:
            git(clone.path, "tag", "-d", tag)


def test_packages_may_be_as_new_as_the_commits_that_ask_for_them(tmp_path: Path) -> None:
    """A pull request is often older than the commit that it was merged into."""
    line = make_instance(tmp_path / "clones")
    clone = find_clone(tmp_path / "clones", "ada/tally")
    base = clone.committed_at(line["base_commit"])
    month = timedelta(days=30)
    later = commit(clone.path, {"setup.cfg": ""}, "Later", when=1_700_000_000 + 30 * 86_400)
    for stated, expected in (
        ({"created_at": None}, base),
        ({"created_at": (base - month).isoformat()}, base),
        ({"created_at": (base + 2 * month).isoformat()}, base + 2 * month),
        ({"created_at": base.isoformat(), "environment_setup_commit": later}, base + month),
    ):
        (instance,) = read_instances(write_instances(tmp_path / "i.jsonl", line | stated))
        assert packages_until(instance, clone) == expected


def test_a_patch_that_does_not_apply_is_told(tmp_path: Path) -> None:
    wrong = make_instance(tmp_path / "clones")
    wrong["patch"] = wrong["patch"].replace("sum(values) + 1", "sum(numbers)")
    (instance,) = read_instances(write_instances(tmp_path / "i.jsonl", wrong))
    clone = find_clone(tmp_path / "clones", "ada/tally")
    spec = resolve_environment(instance, clone, [])
    with pytest.raises(TaskError, match="ada__tally-1: patch does not apply"):
        write_task(tmp_path / "suite", instance, clone, spec, None)
    assert not (tmp_path / "suite" / "ada__tally-1").exists()


def test_the_settings_of_a_clone_run_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    base = make_repository(folder)
    mark = tmp_path / "mark"
    for name in ("core.fsmonitor", "diff.external", "core.pager", "core.sshCommand"):
        git(folder, "config", name, f"touch {mark}")
    head = commit(folder, {"tally.py": "x = 1\n", ".gitattributes": "*.py diff=evil\n"}, "Change")
    git(folder, "config", "diff.evil.textconv", f"touch {mark}; cat")
    git(folder, "config", "diff.evil.command", f"touch {mark}")
    mark.unlink(missing_ok=True)
    clone = open_clone(folder)
    assert b"+x = 1" in clone.diff(base, head)
    assert [entry.path for entry in clone.entries(head)]
    assert not mark.exists()


def test_odd_content_of_a_repository(tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    make_repository(folder)
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "crlf.txt").write_bytes(b"a\r\nb\xff\r\n")
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    head = commit(folder, {"ünïcode name.txt": "x"}, "Odd")
    target = tmp_path / "files"
    target.mkdir()
    assert write_files(open_clone(folder), head, target) == []
    assert (target / "link").is_symlink()
    assert (target / "crlf.txt").read_bytes() == b"a\r\nb\xff\r\n"
    assert (target / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (target / "ünïcode name.txt").read_text() == "x"


def test_submodules_are_empty_folders_and_pointers_stay_pointers(tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    make_repository(folder)
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    (folder / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    git(folder, "config", "filter.lfs.smudge", f"touch {tmp_path / 'ran'}; cat")
    commit(folder, {"data.bin": pointer}, "Data")
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{'a' * 40},vendor/lib")
    git(folder, "commit", "-q", "-m", "A submodule")
    target = tmp_path / "files"
    target.mkdir()
    assert write_files(open_clone(folder), "HEAD", target) == ["vendor/lib"]
    assert (target / "vendor" / "lib").is_dir() and not list((target / "vendor/lib").iterdir())
    assert (target / "data.bin").read_text() == pointer
    assert not (tmp_path / "ran").exists()


def test_absent_clones_and_commits_are_told(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"has no clone of ada/tally; .*git clone"):
        find_clone(tmp_path, "ada/tally")
    make_repository(tmp_path / "tally")
    clone = find_clone(tmp_path, "ada/tally")
    for stated in ("f" * 40, "--help", ""):
        with pytest.raises(TaskError, match="commit"):
            clone.commit(stated)
    with pytest.raises(TaskError, match="no such folder"):
        Clone(tmp_path / "absent").git("rev-parse")


def test_folders_of_ids_that_differ_in_case_alone_are_apart() -> None:
    names = [folder_name(name) for name in ("a__b-1", "A__b-1", "a__B-1", "a.b-1", "x" * 300)]
    assert len(set(names)) == 5 and names[0] == "a__b-1"
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9_-]*", name) for name in names)
