"""Recipes that stand for images: as they declare it, and never for one that was fetched."""

import pytest

from agentgym.errors import SandboxError
from agentgym.sandbox.build.plan import Plan, Pull
from agentgym.sandbox.image_fallback import Sources, fallback_for, plan_context, plan_image
from agentgym.sandbox.images import ImageLayout

RECIPE = """\
schema_version = "agentgym.recipe/1"
title = "A fallback"
stands_for = ["shop:*", "*/tools/shop-*:2"]
archive = "a.tar"
"""


@pytest.fixture(autouse=True)
def catalogue(tmp_path, monkeypatch):
    folder = tmp_path / "own/sandboxes/mine"
    folder.mkdir(parents=True)
    (folder / "recipe.toml").write_text(RECIPE)
    (folder / "a.tar").write_bytes(b"")
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "own"))
    monkeypatch.setenv("AGENTGYM_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("image", "recipe"),
    [
        ("shop:1", "mine"),
        ("shop", "mine"),
        ("docker.io/library/shop:1", "mine"),
        ("ghcr.io/tools/shop-x:2", "mine"),
        ("ghcr.io/tools/shop-x:3", None),
        ("workshop:1", None),
        ("ubuntu:24.04", "debian"),
        ("debian:bullseye-slim", "debian"),
        ("python:3.13-slim-bookworm", "debian-python"),
    ],
)
def test_a_recipe_stands_for_what_it_says(image, recipe):
    assert fallback_for(image) == recipe


def test_what_stands_is_noted(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM shop:1 AS base\nRUN true\n")
    sources = Sources()
    plan = plan_context(tmp_path, sources)
    assert sources.image_fallbacks == {"shop:1": "mine"}
    assert plan.steps[0].title == "archive a.tar"
    assert plan_image("shop:1", sources).steps[0].title == "archive a.tar"


def test_an_image_that_is_here_needs_nobody(tmp_path):
    layout = ImageLayout()
    pulled = Plan(()).then(Pull("shop:1"), "", "")
    with layout.locked():
        layout.finish_step(pulled.name, (), {})
    sources = Sources()
    assert plan_image("shop:1", sources).name == pulled.name
    assert sources.image_fallbacks == {}


def test_an_image_that_nobody_stands_for_stays_one(tmp_path):
    sources = Sources()
    assert plan_image("workshop:1", sources).steps[0].action == Pull("workshop:1")
    (tmp_path / "Dockerfile").write_text("FROM host\n")
    with pytest.raises(SandboxError, match="host's own programs"):
        plan_context(tmp_path, sources)
