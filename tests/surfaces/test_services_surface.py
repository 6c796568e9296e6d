"""The surfaces over services, alone and beside a computer: the shipped contract, and options."""

import numpy as np
import pytest
from hybrid_desk import write_desk

from agentgym.env.spec import load_env_spec
from agentgym.errors import ConfigError, SurfaceError
from agentgym.protocols import SurfaceContext
from agentgym.records import Action, Effect, Recipe, SurfaceConfig
from agentgym.sandbox.absent import NoSandbox
from agentgym.sandbox.bubblewrap import BubblewrapProvider
from agentgym.services import Backend, find_services
from agentgym.surfaces.code import CodeKind
from agentgym.surfaces.service_tools import ServicesKind
from agentgym.surfaces.truncation import MAX_SIDE, MAX_TEXT, bounded, readable
from agentgym.testing.surface import CHECKS

PROBLEMS = BubblewrapProvider().problems()
COMPUTER = pytest.mark.skipif(bool(PROBLEMS), reason=f"no bubblewrap sandbox: {PROBLEMS}")


@pytest.fixture
def services(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTGYM_PATH", str(tmp_path / "catalogue"))
    write_desk(tmp_path / "catalogue")
    return find_services("desk")


@pytest.fixture
def backend(services):
    backend = Backend(services, services.template(1))
    yield backend
    backend.close()


@pytest.fixture
async def computer(tmp_path):
    provider = BubblewrapProvider(tmp_path / "sandboxes")
    yield await provider.start(Recipe("host"))
    await provider.close()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_services_alone(check, services, backend):
    await check(ServicesKind(SurfaceConfig(services.tools)), SurfaceContext(NoSandbox(), backend))


@COMPUTER
@pytest.mark.parametrize("number", range(3), ids=["shell", "services", "code"])
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_every_surface_of_an_environment_with_both(check, number, backend, computer):
    await check(
        load_env_spec("desk").make_surface_kinds()[number], SurfaceContext(computer, backend)
    )


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_office(check):
    office = find_services("office")
    backend = Backend(office, office.template(1))
    await check(ServicesKind(SurfaceConfig(office.tools)), SurfaceContext(NoSandbox(), backend))
    backend.close()


async def test_what_a_service_says_is_what_is_seen(services, backend):
    surface = await ServicesKind(SurfaceConfig(services.tools)).attach(
        SurfaceContext(NoSandbox(), backend)
    )
    seen = await surface.call(Action("shelf_add", {"title": "a \u2603"}))
    assert (seen.effect, seen.data["result"]["title"]) == (Effect.CHANGED, "a \u2603")
    assert '"title": "a \u2603"' in seen.text
    seen = await surface.call(Action("shelf_finish", {"item": 99}))
    assert (seen.effect, seen.text) == (Effect.ERROR, "error: not_found: item: no item 99")
    assert seen.data["error"] == {"code": "not_found", "message": "no item 99", "field": "item"}
    seen = await surface.call(Action("shelf_finish", {"item": 1}))
    assert (seen.effect, seen.text) == (Effect.CHANGED, "null")
    # Done again it is done already.
    assert (await surface.call(Action("shelf_finish", {"item": 1}))).effect is Effect.NO_CHANGE
    assert (await surface.observe()).text == ""


async def test_long_results_and_large_pictures_are_shown_in_part(services, backend):
    surface = await ServicesKind(SurfaceConfig(services.tools)).attach(
        SurfaceContext(NoSandbox(), backend)
    )
    seen = await surface.call(Action("shelf_repeat", {"text": "x", "times": 20_000}))
    assert seen.text.endswith(" more characters]") and len(seen.text) < MAX_TEXT + 50
    assert list(seen.data) == ["omitted_bytes"] and seen.data["omitted_bytes"] > 90_000
    seen = await surface.call(Action("shelf_poster", {"width": 4096}))
    assert seen.image.shape == (2, MAX_SIDE, 3) or seen.image.shape == (3, MAX_SIDE, 3)
    assert backend.picture(seen.text).mime == "image/png"
    small = await surface.call(Action("shelf_poster", {"width": MAX_SIDE}))
    assert small.image.shape == (10, MAX_SIDE, 3) and small.image.dtype == np.uint8


def test_a_cut_text_says_what_is_missing():
    text = "".join(map(str, range(20_000)))
    assert bounded("short") == "short"
    head = bounded(text)
    assert head.partition("\n")[0] == text[:MAX_TEXT]
    assert head.endswith(f"[cut: {len(text) - MAX_TEXT} more characters]")
    first, said, last = bounded(text, tail=1000).split("\n")
    assert (first, last) == (text[: MAX_TEXT - 1000], text[-1000:])
    assert said == f"[cut: {len(text) - MAX_TEXT} more characters]"
    assert bounded(readable("a\0\ud800")) == "a\u2400?"


@pytest.mark.parametrize("kind", [ServicesKind, CodeKind])
def test_options_are_checked(kind, services):
    def make(**options):
        return kind(SurfaceConfig(services.tools, options))

    made = make(tools=["shelf_*"])
    text = " ".join(f"{tool.name} {tool.description}" for tool in made.tools())
    assert "shelf_add" in text and "board_post" not in text
    for options, words in (
        ({"tools": "shelf_*"}, "expected a list of globs"),
        ({"tools": ["shelf_*", "no_*"]}, "'no_*' picks no tool"),
        ({"tolls": []}, "did you mean 'tools'"),
    ):
        with pytest.raises(ConfigError, match=words.replace("*", r"\*")):
            make(**options)
    with pytest.raises(ConfigError, match="needs services"):
        kind(SurfaceConfig())


@pytest.mark.parametrize("kind", [ServicesKind, CodeKind])
async def test_a_site_without_services_is_told(kind, services):
    with pytest.raises(SurfaceError, match="the environment has no services"):
        await kind(SurfaceConfig(services.tools)).attach(SurfaceContext(NoSandbox()))
