"""Pages that the tests write, in the browser that all tests of this process share."""

from __future__ import annotations

import pytest
from web_pages import Visit, WebPages

from agentgym.browser.executable import can_confine, find_executable
from agentgym.errors import ConfigError
from agentgym.records import SurfaceConfig
from agentgym.surfaces.browser import BrowserKind


@pytest.fixture(scope="session", autouse=True)
def chromium():
    """The browser of this machine; without one, these tests say what is missing."""
    pytest.importorskip("playwright", reason="the extra web is not installed")
    if not can_confine():
        pytest.skip("bubblewrap, which confines the browser, is not installed")
    try:
        return find_executable()
    except ConfigError as error:
        pytest.skip(str(error))


@pytest.fixture
async def browse():
    """Opens pages: ``await browse(html)`` or ``await browse({"/": html, "/b": html})``."""
    kinds, visits = [], []

    async def opened(pages, *, start=None, sandbox=None, load=None, **options) -> Visit:
        web = pages if isinstance(pages, WebPages) else WebPages(pages)
        kind = BrowserKind(SurfaceConfig((), {"screenshot": False, **options}, False, 1_000))
        await kind.open()
        kinds.append(kind)
        surface = await kind.attach(web.context(start, sandbox))
        visits.append(Visit(surface, web, kind))
        if load is not None:
            await surface.load(load)
        await visits[-1].look()
        return visits[-1]

    yield opened
    for visit in visits:
        await visit.surface.close()
    for kind in kinds:
        await kind.close()
