"""What an evaluation needs is built first: the images of its tasks' recipes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from agentgym.errors import AgentGymError
from agentgym.eval.prune import wanted_images
from agentgym.eval.requirements import build_images, missing_commands
from agentgym.sandbox.build.worker import as_root
from agentgym.sandbox.images import all_images, find_image
from agentgym.sandbox.recipe import load_recipe
from agentgym.task.load import find_task

TESTS = Path(__file__).parents[1]
sys.path += [str(TESTS / "sandbox/recipes"), str(TESTS / "cli")]
from demo_suite import write_task  # noqa: E402
from tiny_images import digest, tiny_tar, write_oci_archive  # noqa: E402

HEAD = 'schema_version = "agentgym.{0}/1"\ntitle = "Boxed"\n'


@pytest.fixture
def boxed(tmp_path, monkeypatch):
    """Two tasks, one in the host's sandbox and one in a recipe's."""
    try:
        as_root()
    except AgentGymError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path))
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))
    for kind, file, text in (
        ("envs", "env.toml", HEAD.format("env") + 'sandbox = "boxed"\nsurfaces = ["shell"]\n'),
        ("sandboxes", "recipe.toml", HEAD.format("recipe") + 'archive = "a.tar"\n'),
    ):
        (tmp_path / kind / "boxed").mkdir(parents=True)
        (tmp_path / kind / "boxed" / file).write_text(text)
    root = tiny_tar()
    write_oci_archive(tmp_path / "sandboxes/boxed/a.tar", [root], [digest(root)], {})
    for name in ("inside", "outside"):
        task = write_task(tmp_path, name, needs='["no-such-command"]') / "task.toml"
        if name == "inside":
            task.write_text(task.read_text().replace('env = "terminal"', 'env = "boxed"'))
    return tmp_path


def test_images_are_built_once(boxed):
    told: list[str] = []
    build_images(["demo/outside-v1"], told.append)
    assert told == [] and all_images() == []
    build_images(["demo/outside-v1", "demo/inside-v1"], told.append)
    assert told[:2] == ["building boxed", "[1/1] archive a.tar"]
    assert find_image(load_recipe("boxed").image) is not None
    told.clear()
    build_images(["demo/inside-v1"], told.append)
    assert told == []
    assert wanted_images()[all_images()[0].name] == "boxed"


def test_commands_are_looked_for_where_they_have_to_be(boxed):
    tasks = [find_task("demo/inside-v1"), find_task("demo/outside-v1")]
    assert [need.tasks for need in missing_commands(tasks)] == [("demo/outside-v1",)]
