"""Pages that do harm: they are bounded in time and memory, and told in plain words."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time

import pytest
from web_pages import WebPages

from agentgym.browser import exchange, session, settling
from agentgym.browser.engine import engine
from agentgym.browser.pool import browser_pool
from agentgym.errors import SurfaceEndedError, SurfaceError, SurfaceLostError
from agentgym.records import Action, Effect


async def never(scope, body):
    await asyncio.sleep(60)


async def test_a_page_that_never_loads_is_given_up(browse, monkeypatch):
    monkeypatch.setattr("agentgym.browser.actions.LOAD_S", 0.3)
    visit = await browse({"/": "<a href='/never'>Go</a>", "/never": never})
    await visit.act("goto", url="/never")
    assert visit.seen.effect is Effect.ERROR and "no answer within" in visit.last
    await visit.act("goto", url="/")
    assert visit.last == "navigated" and 'link "Go"' in visit.text


async def test_a_part_that_never_loads_holds_a_page_for_a_bounded_time(browse, monkeypatch):
    monkeypatch.setattr(settling, "LOAD_S", 0.3)
    visit = await browse({"/": "<p>Here</p><img src='/never'>", "/never": never})
    await visit.act("press", keys="Tab")
    assert "Here" in visit.text


async def test_infinite_redirects_end(browse):
    hops = {"n": 0}

    def hop(scope, body):
        hops["n"] += 1
        return (302, [(b"location", f"/hop?{hops['n']}".encode())], b"")

    def turn(scope, body):
        hops["n"] += 1
        return f"<script>location = '/turn?{hops['n']}'</script>"

    visit = await browse({"/": "<p>Start", "/hop": hop, "/turn": turn})
    await visit.act("goto", url="/hop")
    assert "ERR_TOO_MANY_REDIRECTS" in visit.last and hops["n"] < 50


async def test_pages_that_send_themselves_on_for_ever_end(browse, monkeypatch):
    monkeypatch.setattr("agentgym.browser.requests.STEP_REQUESTS", 10)
    count = []

    def turn(scope, body):
        count.append(1)
        return f"<script>location = '/turn?{len(count)}'</script>"

    visit = await browse({"/": "<p>Start", "/turn": turn})
    await visit.act("goto", url="/turn")
    assert len(count) <= 11
    assert "more than 10 requests since the last action" in visit.text


async def test_a_storm_of_alerts_lets_the_agent_go_on(browse, monkeypatch):
    monkeypatch.setattr(session, "DIALOGS", 3)
    visit = await browse(
        {
            "/": "<button onclick='for (let i = 0; i < 30; i++) alert(i)'>Storm</button>",
            "/b": "<p>Out",
        }
    )
    await visit.click("button", "Storm")
    assert 'dialog: alert "0"' in visit.text
    for number in range(1, 4):
        assert f'dialog: alert "{number - 1}"' in visit.text
        await visit.act("dialog", accept=True)
    assert visit.seen.data["dialog"] is None and "more than 3 dialogs in a row" in visit.text
    # The document opens no more of them; the next one may.
    await visit.click("button", "Storm")
    assert visit.seen.data["dialog"] is None
    await visit.act("goto", url="/")
    await visit.click("button", "Storm")
    assert 'dialog: alert "0"' in visit.text
    for _ in range(3):
        await visit.act("dialog", accept=False)
    await visit.act("goto", url="/b")
    assert "Out" in visit.text


async def test_a_document_that_is_opened_and_never_closed_is_read(browse, monkeypatch):
    monkeypatch.setattr(settling, "QUIET_S", 0.3)
    visit = await browse(
        "<button onclick=\"document.open(); document.write('<p>New')\">Go</button>"
    )
    await visit.click("button", "Go")
    assert "New" in visit.text
    await visit.act("press", keys="Tab")
    assert visit.seen.effect is not Effect.ERROR


async def test_popups_are_bounded(browse, monkeypatch):
    monkeypatch.setattr(session, "TABS", 3)
    visit = await browse(
        "<button onclick=\"for (let i = 0; i < 9; i++) window.open('/')\">Many</button>"
    )
    await visit.click("button", "Many")
    await visit.act("wait", seconds=0.3)
    assert len(visit.seen.data["tabs"]) <= 3


async def test_a_page_that_never_answers_can_be_left(browse, monkeypatch):
    monkeypatch.setattr("agentgym.browser.tab.ANSWER_S", 0.5)
    visit = await browse(
        {
            "/": "<button onclick='while (true) {}'>Hang</button>",
            "/b": "<p>Out",
        }
    )
    began = time.monotonic()
    await visit.click("button", "Hang")
    assert "does not respond" in visit.text and time.monotonic() - began < 20
    await visit.act("tab_new", url="http://pages.example/b")
    assert "Out" in visit.text


async def test_a_page_that_takes_long_for_each_key_gets_the_whole_text(browse, monkeypatch):
    monkeypatch.setattr("agentgym.browser.tab.ANSWER_S", 1.0)
    monkeypatch.setattr("agentgym.browser.actions.ANSWER_S", 1.0)
    visit = await browse(
        "<input aria-label='Mail'><script>onkeydown = () => {"
        "const end = Date.now() + 60; while (Date.now() < end);}</script>"
    )
    await visit.click("textbox", "Mail")
    text = "nora.winter@mail.example and more"
    await visit.act("type", text=text)
    assert visit.seen.effect is not Effect.ERROR
    assert [node["value"] for node in visit.nodes if node["name"] == "Mail"] == [text]


@pytest.mark.full
async def test_a_huge_page_is_cut_and_says_so(browse):
    rows = "".join(f"<div><button>Row {i}</button></div>" for i in range(34_000))
    visit = await browse(f"<h1>Long</h1>{rows}", nodes=200)
    assert 'button "Row 0"' in visit.text and visit.seen.data["truncated"] > 60_000
    assert "more nodes)" in visit.text and len(visit.nodes) <= 200
    await visit.act("scroll", direction="down", amount=100)
    seen = [int(n["name"].split()[1]) for n in visit.nodes if n["role"] == "button"]
    assert min(seen) > 1_000


async def test_a_deep_page_is_read(browse):
    depth = 5_000
    visit = await browse("<div>" * depth + "<button>Deep</button>")
    assert visit.text.startswith("url: ")
    assert (await visit.act("press", keys="Tab")).effect is not None


async def test_long_texts_are_bounded(browse):
    visit = await browse(
        f"<button>{'b' * 100_000}</button><p>{'p' * 1_000_000}</p><title>{'t' * 9_999}</title>",
        text_bytes=5_000,
    )
    assert len(visit.text) < 25_000


async def test_a_download_without_end_is_cut(browse, monkeypatch):
    monkeypatch.setattr(exchange, "RESPONSE_BYTES", 300_000)
    sent = []

    async def endless(scope, body):
        yield [
            (b"content-type", b"application/zip"),
            (b"content-disposition", b"attachment; filename=big.zip"),
        ]
        while True:
            sent.append(1)
            yield b"x" * 65_536

    visit = await browse({"/": "<a href='/big'>Big</a>", "/big": endless})
    await visit.click("link", "Big")
    await visit.act("wait", seconds=0.5)
    assert len(sent) < 10
    (entry,) = [e for e in visit.surface.audit().requests if e.url.endswith("/big")]
    assert "cut after" in entry.failed
    files = visit.seen.data["downloads"]
    assert files and all("cut after" in file["error"] for file in files)


async def test_a_site_that_fails_is_an_answer(browse):
    visit = await browse({"/": "<a href='/f'>Fail</a>", "/f": lambda scope, body: 1 / 0})
    await visit.click("link", "Fail")
    assert "the site failed: ZeroDivisionError" in visit.text


async def test_values_of_the_page_are_kept_from_the_agent_and_end_the_episode(browse):
    visit = await browse(
        {
            "/": "<button onclick='score += 1'>Add</button><a href='/b'>Away</a>"
            "<script>var score = 0, seed = null</script>",
            "/b": "<p>other",
        },
        init="seed = {{seed}} + 41",
        state={"score": "score", "seed": "seed", "broken": "nothing.at.all", "over": "score > 1"},
        until="over",
    )
    assert visit.surface.audit().page_state == {
        "score": 0,
        "seed": 41,
        "broken": None,
        "over": False,
    }
    await visit.click("button", "Add")
    await visit.click("link", "Away")
    assert visit.surface.audit().page_state["score"] == 1 and not visit.surface.ended
    assert "score" not in visit.text
    await visit.act("back")
    await visit.act("goto", url="/")
    await visit.click("button", "Add")
    await visit.click("button", "Add")
    assert visit.surface.ended and visit.surface.audit().page_state["score"] == 2
    await visit.click("button", "Add")
    assert visit.surface.audit().page_state["score"] == 2


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("<p>Here", "nothing is not defined"),
        ("<script>history.pushState(0, '', '/b')</script>", "shows .*/b"),
    ],
)
async def test_a_first_page_that_is_not_prepared_is_no_mistake_of_the_agent(browse, page, why):
    with pytest.raises(SurfaceLostError, match=f"the first page was not prepared: .*{why}"):
        await browse({"/": page, "/b": "<p>Other"}, init="nothing.at.all()")


async def test_a_killed_browser_is_an_error_of_the_surface_and_the_next_episode_has_another(browse):
    visit = await browse("<button>Go</button>")
    before = browser_pool().started
    for pid in browser_pool().processes():
        with contextlib.suppress(ProcessLookupError):  # the end of one ends others
            os.kill(pid, signal.SIGKILL)
    with pytest.raises(SurfaceError, match="browser"):
        for _ in range(3):
            await visit.surface.call(Action("click", {"ref": 1}))
    again = await browse(WebPages("<p>Again"))
    assert "Again" in again.text and browser_pool().started == before + 1


async def test_a_used_up_browser_is_replaced_when_its_episodes_are_over(browse, monkeypatch):
    first = await browse("<p>One")
    monkeypatch.setattr("agentgym.browser.pool.SERVED", 1)
    second = await browse("<p>Two")
    assert first.surface._ready.chromium is not second.surface._ready.chromium
    await first.look()
    await first.surface.close()
    assert not first.surface._ready.chromium.alive
    assert await engine().run(_alive(second))


async def _alive(visit):
    return visit.surface._ready.chromium.alive


@pytest.fixture
def hang(monkeypatch):
    """Makes a browser of a visit one that is busy and never answers."""

    def hanging(visit):
        chromium = visit.surface._ready.chromium
        used_s = iter(range(0, 10**6, 100))
        monkeypatch.setattr(chromium, "processor_s", lambda: next(used_s))

        async def answers(self, within_s):
            return self._chromium is not chromium

        monkeypatch.setattr(session.BrowserSession, "_answers", answers)

    return hanging


async def check(visit):
    await engine().run(visit.surface._ready.session.check_answers())


async def test_an_episode_that_alone_has_a_browser_is_to_blame_if_it_hangs(browse, hang):
    visit = await browse("<button>Go</button>")
    visit.surface._ready.session.is_alone = True
    hang(visit)
    with pytest.raises(SurfaceEndedError, match="kept the browser from answering"):
        await check(visit)
    with pytest.raises(SurfaceEndedError, match="kept the browser from answering"):
        await visit.surface.call(Action("press", {"keys": "Tab"}))


async def test_episodes_that_share_a_browser_that_hangs_get_the_next_one_for_themselves(
    browse, hang
):
    first, second = await browse("<p>One"), await browse("<p>Two")
    hang(first)
    with pytest.raises(SurfaceLostError):
        await check(first)
    with pytest.raises(SurfaceLostError):
        await second.surface.call(Action("press", {"keys": "Tab"}))
    again = [await browse("<p>Again"), await browse("<p>Again"), await browse("<p>Third")]
    browsers = [visit.surface._ready.chromium for visit in again]
    assert len({*browsers, first.surface._ready.chromium}) == 4
    assert all(visit.surface._ready.session.is_alone for visit in again)
    assert browsers[-1] in browser_pool()._current.values()
