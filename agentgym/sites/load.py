"""Loads site folders, ``envs/<env>/sites/<name>/``, and finds them on the search path."""

from __future__ import annotations

import functools
import importlib.util
import os
import threading
from dataclasses import dataclass
from pathlib import Path

from jinja2 import TemplateError

from agentgym import catalogue
from agentgym.errors import ConfigError, NotFoundError
from agentgym.manifest import load_toml, show_path
from agentgym.modules import execute
from agentgym.records.pattern import fits_glob
from agentgym.sites.manifest import SiteManifest
from agentgym.sites.pages import Pages
from agentgym.sites.site import Site
from agentgym.sites.variation import Variation

_loading = threading.Lock()
"""`execute` replaces a module of the same file, so two threads must not load one folder at once."""


@dataclass(frozen=True, eq=False, slots=True)
class LoadedSite:
    """A site folder.

    Attributes:
        folder: The folder.
        manifest: Its `site.toml`.
        pages: Its templates.
        site: Its views; None if its pages are static or those of a program.
        static: Folder of its static pages; None if it has none.
    """

    folder: Path
    manifest: SiteManifest
    pages: Pages
    site: Site | None
    static: Path | None = None

    def error_page(self, status: int, reason: str, message: str, vary: Variation) -> str:
        """Return a page that reports a problem, as HTML."""
        return self.pages.problem(status, reason, message, vary)


def load_site(folder: Path) -> LoadedSite:
    """Return the site of a folder; the same object until a file changes.

    Raises:
        ConfigError: The folder is no site, or the site is broken.
    """
    with _loading:
        return _load(folder.resolve(), _changed(folder))


def find_sites(globs: tuple[str, ...]) -> tuple[LoadedSite, ...]:
    """Return sites of environments on the search path.

    Args:
        globs: Names such as ``office/mail`` or ``office/*``, in the order of the sites.

    Raises:
        NotFoundError: A glob fits no site.
        ConfigError: A site is broken, or two sites have one host.
    """
    known = _names()
    folders: dict[str, Path] = {}
    for glob in globs:
        fitting = [name for name in known if fits_glob(name, glob)]
        if not fitting:
            hint = "sites are folders with site.toml below envs/<env>/sites/"
            raise NotFoundError("site", glob, known, hint)
        folders |= {name: known[name] for name in fitting if name not in folders}
    sites = tuple(load_site(folder) for folder in folders.values())
    hosts = [site.manifest.host for site in sites]
    for host in hosts:
        if hosts.count(host) > 1:
            raise ConfigError(f"two sites have the host {host!r}; give each a host of its own")
    return sites


def _package(path: Path, name: str) -> Path:
    """Return the folder of a package that is installed, without importing it."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        found = None
    if found is None or not found.submodule_search_locations:
        raise ConfigError(
            f"{show_path(path)}: its pages are those of the package {name!r}, which is not "
            f"installed; run: pip install {name}"
        )
    return Path(found.submodule_search_locations[0])


def _names() -> dict[str, Path]:
    """Return the folders of all sites by name, sorted."""
    found: dict[str, list[Path]] = {}
    for root in catalogue.search_path():
        for path in root.glob("envs/*/sites/*/site.toml"):
            env, name = path.parts[-4], path.parts[-2]
            found.setdefault(f"{env}/{name}", []).append(path.parent)
    return {name: catalogue.sole("envs", name, found[name]) for name in sorted(found)}


def _changed(folder: Path) -> int:
    seen: list[tuple[str, int]] = []
    for place in (folder, folder / "templates", folder.parent / "templates"):
        if place.is_dir():
            with os.scandir(place) as entries:
                seen += [(each.path, each.stat().st_mtime_ns) for each in entries if each.is_file()]
    return hash(tuple(sorted(seen)))


@functools.lru_cache(maxsize=64)
def _load(folder: Path, changed: int) -> LoadedSite:
    path = folder / "site.toml"
    if not path.is_file():
        raise ConfigError(f"{show_path(folder)}: no site.toml there; see docs/sites.md")
    manifest = load_toml(path, SiteManifest, ConfigError)
    pages = Pages(folder, manifest.title, manifest.host)
    if manifest.folder is not None:
        static = _package(path, manifest.package) if manifest.package else folder
        if not (static / manifest.folder).is_dir():
            raise ConfigError(f"{show_path(path)}: no folder {manifest.folder!r} in {static}")
        return LoadedSite(folder, manifest, pages, None, static / manifest.folder)
    if manifest.port is not None:
        return LoadedSite(folder, manifest, pages, None)
    app = folder / "app.py"
    if not app.is_file():
        raise ConfigError(
            f"{show_path(folder)}: expected app.py, or in site.toml folder = '…' of static pages "
            "or port = … of a program in the sandbox"
        )
    site = getattr(execute(app, ConfigError, is_package=True), "site", None)
    if not isinstance(site, Site):
        raise ConfigError(f"{show_path(app)}: expected a Site named 'site', got {site!r}")
    try:
        pages.check()
    except TemplateError as error:
        raise ConfigError(f"{show_path(folder)}: templates: {error}") from error
    return LoadedSite(folder, manifest, pages, site)
