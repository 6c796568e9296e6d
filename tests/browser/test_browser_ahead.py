"""Pages that are opened before an episode begins."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses

import pytest
from web_pages import Visit, WebPages

from agentgym.browser import contexts
from agentgym.browser import pool as pool_module
from agentgym.browser.engine import engine
from agentgym.browser.pool import browser_pool
from agentgym.errors import SurfaceLostError
from agentgym.records import Action, SurfaceConfig
from agentgym.surfaces.browser import BrowserKind

PAGE = """<title>Game</title><button onclick="document.title = 'clicked'">Play</button>
<script>document.cookie = "visit=" + document.cookie.length;
localStorage.n = (localStorage.n || 0) + 1;
function begin(seed) { document.title = `Game ${seed} of ${localStorage.n}, ${document.cookie}`; }
</script>"""


@pytest.fixture
async def play():
    """Opens episodes of one environment: ``await play(pages, seed)``."""
    kinds, visits = {}, []

    async def opened(web, seed, *, version="1", start="http://pages.example/", **options):
        if web not in kinds:
            given = {"screenshot": False, "init": "begin({{seed}})", "ahead": True, **options}
            kinds[web] = BrowserKind(SurfaceConfig((), given, False, 1_000))
            await kinds[web].open()
        context = web.context(start)
        sites = dataclasses.replace(context.sites, version=version)
        surface = await kinds[web].attach(dataclasses.replace(context, sites=sites, seed=seed))
        visits.append(Visit(surface, web, kinds[web]))
        await visits[-1].look()
        await ready()
        return visits[-1]

    yield opened
    for visit in visits:
        await visit.surface.close()
    for kind in kinds.values():
        await kind.close()


async def ready():
    async with asyncio.timeout(60):
        while browser_pool().busy:
            await asyncio.sleep(0.01)


def was_ahead(visit):
    return visit.surface._ready.proxy is not None


async def test_the_first_page_is_opened_ahead_and_every_episode_sees_the_same(play):
    web = WebPages(PAGE)
    # The first two contexts are made before the pool knows that the page is wanted again.
    visits = [await play(web, seed) for seed in (1, 2, 3, 4)]
    assert [was_ahead(visit) for visit in visits] == [False, False, True, True]
    for seed, visit in enumerate(visits, 1):
        assert f"title: Game {seed} of 1, visit=0" in visit.text
        (request,) = visit.surface.audit().requests
        assert (request.url, request.step) == ("http://pages.example/", 0)
    for visit in visits[1:3]:
        await visit.click("button", "Play")
        assert visit.last == "changed" and "title: clicked" in visit.text
    # An episode that was opened ahead is forked into another one that was.
    await visits[3].act("goto", url="/?page=2")
    saved = await visits[3].surface.save()
    fork = await visits[3].kind.attach(
        dataclasses.replace(web.context(), sites=visits[3].surface._context.sites)
    )
    try:
        await fork.load(saved)
        assert (await fork.observe()).data["url"] == "http://pages.example/?page=2"
        assert (await fork.call(Action("reload", {}))).data["error"] == ""
    finally:
        await fork.close()


@pytest.mark.parametrize(
    "given", [{"version": ""}, {"start": "http://pages.example/?{{seed}}"}, {"ahead": False}]
)
async def test_a_page_that_depends_on_the_episode_is_not_opened_ahead(play, given):
    web = WebPages({"/": PAGE})
    visits = [await play(web, seed, **given) for seed in (1, 2, 3)]
    assert [was_ahead(visit) for visit in visits] == [False] * 3
    assert len(web.asked) == 3


async def test_pages_that_are_not_wanted_any_more_are_closed(play, monkeypatch):
    monkeypatch.setattr(pool_module, "_SETTINGS", 2)
    for number in range(4):
        web = WebPages(PAGE)
        for seed in (1, 2):
            await play(web, seed, version=f"version {number}")
    kept = [spare for ready in browser_pool()._ready.values() for spare in ready]
    assert len(browser_pool()._ready) == 2 and len(kept) <= 2
    await engine().run(browser_pool().drop_spares())


async def test_a_page_that_cannot_be_opened_ahead_is_opened_late(play):
    asked = 0

    async def once(scope, body):
        nonlocal asked
        asked += 1
        if asked == 2:
            raise RuntimeError("not now")
        return PAGE

    web = WebPages({"/": once})
    first = await play(web, 1)
    # The failure is that of the second episode, or of the page that is opened ahead for the third.
    with contextlib.suppress(SurfaceLostError):
        await play(web, 2)
    with contextlib.suppress(SurfaceLostError):
        await play(web, 3)
    last = await play(web, 4)
    assert "title: Game 1" in first.text and "title: Game 4" in last.text


async def test_a_page_that_does_not_open_ahead_costs_no_browser(play):
    neighbour = await play(WebPages(PAGE), 1)
    pool, started = browser_pool(), browser_pool().started
    sites = WebPages({"/": (204, [], b"")}).context().sites
    first = contexts.FirstPage("http://pages.example/", "empty", sites)
    with pytest.raises(contexts.FirstPageError, match="did not open"):
        await engine().run(pool._make(contexts.ContextSettings(first=first)))
    await neighbour.click("button", "Play")
    assert pool.started == started and neighbour.last == "changed"


TURNING = """<body style='margin:0;background:red'><p id=p>red</p><button>Go</button><script>
const turn = (ms) => setTimeout(() => {
  document.body.style.background = 'lime'; p.textContent = 'lime'; }, ms);
document.querySelector('button').onclick = () => { p.textContent = 'soon'; turn(DELAY); };
function begin() { p.textContent = 'soon'; turn(DELAY); }</script>"""


def is_lime(visit):
    return tuple(visit.seen.image[250, 300] > 200) == (False, True, False)


@pytest.mark.parametrize("delay_ms", [0, 3, 6, 9, 12, 25])
async def test_the_picture_is_not_older_than_the_tree(play, delay_ms):
    web = WebPages(TURNING.replace("DELAY", str(delay_ms)))
    size = {"width": 400, "height": 300}
    for seed in range(1, 5):
        visit = await play(
            web, seed, version=f"{delay_ms} ms", screenshot=True, init="begin()", **size
        )
        assert is_lime(visit) or "soon" in visit.text, (visit.text, was_ahead(visit))
    assert was_ahead(visit)
    await visit.click("button", "Go")
    assert is_lime(visit) or "soon" in visit.text, visit.text


async def test_preparing_that_takes_time_is_waited_for(play):
    web = WebPages(PAGE)
    slow = "new Promise((done) => setTimeout(() => { begin({{seed}}); done(); }, 80))"
    visits = [await play(web, seed, init=slow, version="slow") for seed in (1, 2, 3)]
    assert [was_ahead(visit) for visit in visits] == [False, False, True]
    assert ["title: Game" in visit.text for visit in visits] == [True] * 3


async def test_a_page_that_left_before_the_episode_began_is_opened_anew(play):
    leaving = "<script>if (!location.search) setTimeout(() => location = '/?gone', 400)</script>"
    web = WebPages(PAGE + leaving)
    await play(web, 1, version="leaving")
    await play(web, 2, version="leaving")
    await asyncio.sleep(0.8)
    visit = await play(web, 3, version="leaving")
    assert "title: Game 3 of 1, visit=0" in visit.text and not was_ahead(visit)


@pytest.mark.parametrize("delay_ms", range(4, 31, 2))
async def test_a_page_is_seen_after_it_was_prepared(play, delay_ms):
    web = WebPages(PAGE)
    slow = (
        f"new Promise((done) => setTimeout(() => {{ begin({{{{seed}}}}); done(); }}, {delay_ms}))"
    )
    state = {"ready": "document.title === 'Game'", "game": "document.title"}
    given = {"init": slow, "version": "later", "state": state, "screenshot": True}
    for seed in (1, 2, 3):
        visit = await play(web, seed, **given)
        assert f"title: Game {seed} of 1" in visit.text
        assert visit.surface.audit().page_state["game"].startswith(f"Game {seed}")
    assert was_ahead(visit)


async def test_a_pool_that_was_closed_serves_again(play):
    for number in (1, 2):
        web = WebPages(PAGE)
        visits = [await play(web, seed, version=f"round {number}") for seed in (1, 2, 3)]
        assert [was_ahead(visit) for visit in visits] == [False, False, True]
        for visit in visits:
            await visit.surface.close()
        await engine().run(browser_pool().close())
