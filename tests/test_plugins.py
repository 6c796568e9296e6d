"""Entry points of really installed (tiny) packages, and of the built-ins."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from agentgym import plugins
from agentgym.cli import doctor
from agentgym.errors import NotFoundError, PluginError
from agentgym.records import Capability

GROUP = "agentgym.surfaces"


def install(root: Path, package: str, points: dict[str, str], source: str) -> None:
    (root / f"{package}.py").write_text(source)
    info = root / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines, ""]))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_built_ins_are_entry_points_too() -> None:
    assert {"bubblewrap", "docker"} <= set(plugins.names("agentgym.sandboxes"))
    assert "shell" in plugins.names("agentgym.surfaces")
    assert {"effect", "llm", "loops"} <= set(plugins.names("agentgym.step_graders"))
    assert {"noop", "openai", "oracle", "random", "scripted"} <= set(
        plugins.names("agentgym.agents")
    )


def test_an_installed_package_adds_a_name(site: Path) -> None:
    install(site, "surface_plugin_a", {"radar": "surface_plugin_a:Radar"}, "class Radar: pass\n")
    assert {"radar", "shell"} <= set(plugins.names(GROUP))
    assert plugins.load(GROUP, "radar").__name__ == "Radar"


def test_a_mistyped_name_offers_the_close_match_and_all_names() -> None:
    with pytest.raises(NotFoundError) as caught:
        plugins.load("agentgym.agents", "orakle")
    assert str(caught.value).startswith("no agent named 'orakle'; did you mean 'oracle'? known: ")


@pytest.mark.parametrize(
    ("name", "source", "seen"),
    [
        ("surface_lacks", "import no_such_module_at_all\n", "ModuleNotFoundError: No module named"),
        ("surface_empty", "x = 1\n", "AttributeError"),
        ("surface_raises", "raise SystemError('half installed')\n", "SystemError: half installed"),
    ],
)
def test_what_cannot_be_imported_is_a_plugin_error(
    site: Path, name: str, source: str, seen: str
) -> None:
    install(site, name, {"broken": f"{name}:Thing"}, source)
    with pytest.raises(PluginError) as caught:
        plugins.load(GROUP, "broken")
    assert f"surface 'broken' of {name} cannot be loaded from '{name}:Thing': " in str(caught.value)
    assert seen in str(caught.value)


def test_a_plug_in_that_ends_the_process_when_imported_is_a_plugin_error(site: Path) -> None:
    points = {"leaves": "surface_leaves:X"}
    install(site, "surface_leaves", points, "import sys; sys.exit('goodbye')\n")
    with pytest.raises(PluginError, match="SystemExit: goodbye"):
        plugins.load(GROUP, "leaves")


BAD_PROVIDERS = """
five = 5
def none(): return None
def raises(): raise KeyError("half installed")
def leaves(): raise SystemExit("goodbye")
class Silent:
    name = "silent"
    def problems(self): raise OSError("no such tool")
    async def start(self, recipe, snapshot=None): ...
    async def close(self): ...
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("five", "cannot be made: 'int' object is not callable"),
        ("none", "is a NoneType without name; see agentgym.protocols.SandboxProvider"),
        ("raises", "cannot be made: 'half installed'"),
        ("leaves", "cannot be made: goodbye"),
    ],
)
def test_a_provider_that_cannot_be_made_is_a_plugin_error(
    site: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setitem(globals(), "GROUP", "agentgym.sandboxes")
    install(site, "providers_bad", {f"bad-{name}": f"providers_bad:{name}"}, BAD_PROVIDERS)
    with pytest.raises(PluginError, match=re.escape(f"sandbox 'bad-{name}' {said}")):
        plugins.make_provider(f"bad-{name}")
    monkeypatch.setattr(plugins, "names", lambda group: [f"bad-{name}"])
    assert [found.ok for found in doctor.providers()] == [False]


def test_a_provider_that_cannot_tell_its_problems_is_reported(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "GROUP", "agentgym.sandboxes")
    install(site, "provider_silent", {"silent": "provider_silent:Silent"}, BAD_PROVIDERS)
    with pytest.raises(PluginError, match="cannot tell its problems: no such tool"):
        plugins.problems_of(plugins.make_provider("silent"))


class _Quiet:
    """A provider that starts nothing, changed by its subclasses."""

    name = "odd"
    capabilities = frozenset[Capability]()

    def problems(self) -> Any:
        return []

    async def start(self, recipe: object, snapshot: object = None) -> Any:
        return None

    async def close(self) -> None:
        pass


class _NoList(_Quiet):
    def problems(self) -> Any:
        return None


class _OddProblem(_Quiet):
    def problems(self) -> Any:
        return [3]


class _Raises(_Quiet):
    async def start(self, recipe: object, snapshot: object = None) -> Any:
        raise KeyError("half installed")


class _Waits(_Quiet):
    async def start(self, recipe: object, snapshot: object = None) -> Any:
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("provider", "said"),
    [
        (_NoList, "cannot tell its problems"),
        (_OddProblem, "cannot tell its problems"),
        (_Quiet, "does not work: AttributeError"),
        (_Raises, "does not work: KeyError: 'half installed'"),
        (_Waits, "did not start a sandbox within 0.2 s"),
    ],
)
def test_the_doctor_names_a_provider_that_breaks(
    monkeypatch: pytest.MonkeyPatch, provider: type[_Quiet], said: str
) -> None:
    monkeypatch.setattr(plugins, "names", lambda group: ["odd"])
    monkeypatch.setattr(plugins, "load", lambda group, name: provider)
    monkeypatch.setattr(doctor, "_TRY_S", 0.2)
    (found,) = doctor.providers()
    assert found.ok is False
    assert said in found.detail


def test_a_plug_in_that_panics_when_imported_is_a_plugin_error(site: Path) -> None:
    """Extension modules in Rust raise such an exception, which is no `Exception`."""
    source = "class PanicException(BaseException): pass\nraise PanicException('oh')\n"
    install(site, "surface_panics", {"panics": "surface_panics:X"}, source)
    install(site, "surface_stops", {"stops": "surface_stops:X"}, "raise KeyboardInterrupt\n")
    with pytest.raises(PluginError, match="PanicException: oh"):
        plugins.load(GROUP, "panics")
    with pytest.raises(KeyboardInterrupt):
        plugins.load(GROUP, "stops")


def test_two_packages_may_not_claim_one_name(site: Path) -> None:
    install(site, "surface_plugin_x", {"twice": "surface_plugin_x:A"}, "A = 1\n")
    install(site, "surface_plugin_y", {"twice": "surface_plugin_y:A"}, "A = 2\n")
    assert plugins.names(GROUP).count("twice") == 1
    with pytest.raises(PluginError, match="surface_plugin_x .* and surface_plugin_y .*uninstall"):
        plugins.load(GROUP, "twice")


def test_a_package_whose_metadata_cannot_be_read_is_named(site: Path) -> None:
    install(site, "scrambled", {}, "")
    (site / "scrambled-1.0.dist-info" / "entry_points.txt").write_bytes(b"\xff\xfe[x]\na = b\n")
    plugins._points.cache_clear()
    with pytest.raises(PluginError, match=f"entry points of scrambled in {site}.*reinstall"):
        plugins.names(GROUP)


def test_few_of_many_known_names_are_told(site: Path) -> None:
    install(site, "many", {f"name{n}": "many:X" for n in range(100)}, "")
    with pytest.raises(NotFoundError, match=r"known: .* and [0-9]+ more") as told:
        plugins.load(GROUP, "zz")
    assert len(str(told.value)) < 1_000
