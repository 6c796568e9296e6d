"""The state of a browser context as JSON, and a context brought into it.

Restored are cookies, storage of origins and tabs, addresses, form fields, the scrolled position and
downloads. What a page holds in memory, its history and the result of a POST are not: after the
restoration the pages are read and compared with what was saved, and any difference is told.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Mapping
from typing import Any, Final

from agentgym.browser.downloads import Downloaded
from agentgym.browser.drive import Driver
from agentgym.browser.session import BrowserSession, dialog_json
from agentgym.browser.settling import settle
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.browser.view import PageView
from agentgym.errors import UnsupportedError
from agentgym.records import Json

_FILES_BYTES: Final = 4 * 2**20
_LATE_S, _POLL_S = 2.0, 0.02
STORAGE_S: Final = 15.0
"""Seconds that reading or restoring the storage of all sites may take."""


async def anchor_of(driver: Driver) -> str:
    """Return a hash of what an agent can see in all tabs, and of the values of the page."""
    session = driver.session
    seen: list[Json] = []
    for tab in session.tabs:
        if tab.dialog is None:
            view = await session.reader.read(tab)
            seen.append([view.url, view.title, view.digest, view.blocked])
        else:
            seen.append([tab.page.url, dict(dialog_json(tab) or {})])
    files = [file.as_json() for file in session.downloads.files]
    told = [seen, session.tabs.index(session.tab), files, dict(driver.values.values)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


async def save_browser(driver: Driver) -> dict[str, Json]:
    """Return the state of a browser context.

    Raises:
        UnsupportedError: A dialog is open, a page does not answer, or downloads are too large.
    """
    from playwright.async_api import Error

    session = driver.session
    tabs: list[Json] = []
    for tab in session.tabs:
        if tab.dialog is not None:
            raise _unsupported("a dialog is open")
        view = await session.reader.read(tab)
        if view.blocked:
            raise _unsupported(view.blocked)
        try:
            kept = await tab.call("keep")
        except (PageBusyError, PageGoneError, PageFailure) as error:
            raise _unsupported(str(error)) from None
        numbers: list[Json] = [node["ref"] for node in view.nodes if "ref" in node]
        tabs.append({"url": view.url, "kept": kept, "digest": view.digest, "references": numbers})
    try:
        async with asyncio.timeout(STORAGE_S):
            storage: Any = await session.context.storage_state(indexed_db=True)
    except TimeoutError:
        raise _unsupported(f"its storage was not read in {STORAGE_S:g} s") from None
    except Error as error:
        session.check_alive()
        raise _unsupported(str(error).splitlines()[0]) from None
    return {
        "tabs": tabs,
        "current": session.tabs.index(session.tab),
        "storage": storage,
        "downloads": await asyncio.to_thread(_files, session),
        "last_reference": session.references.last,
        "values": dict(driver.values.values),
        "ended": driver.values.ended,
        "step": session.log.step,
    }


async def load_browser(driver: Driver, state: Mapping[str, Any]) -> None:
    """Bring a fresh context into a saved state.

    Raises:
        UnsupportedError: The pages do not come back as they were.
    """
    from playwright.async_api import Error

    session = driver.session
    try:
        async with asyncio.timeout(STORAGE_S):
            await session.context.set_storage_state(state["storage"])
    except TimeoutError:
        raise _unsupported(f"its storage was not restored in {STORAGE_S:g} s") from None
    except Error as error:
        session.check_alive()
        raise _unsupported(f"its storage: {str(error).splitlines()[0]}") from None
    numbers: dict[int, int] = {}
    for number, kept in enumerate(state["tabs"]):
        tab = session.tab if number == 0 else await session.new_tab()
        view = await _restore(driver, tab, kept)
        found = [node["ref"] for node in view.nodes if "ref" in node]
        numbers |= dict(zip(found, kept["references"], strict=True))
    session.references.renumber(numbers, state["last_reference"])
    session.switch(state["current"] + 1)
    session.downloads.files += await asyncio.to_thread(_downloads, driver, state["downloads"])
    driver.values.values, driver.values.ended = dict(state["values"]), state["ended"]
    # What was asked for here is no act of the agent.
    session.log.entries.clear()
    session.log.step = state["step"]
    await driver.remember()


async def _restore(driver: Driver, tab: Tab, kept: Mapping[str, Any]) -> PageView:
    """Open the page of a tab as it was.

    Raises:
        UnsupportedError: It comes back otherwise.
    """
    from playwright.async_api import Error

    session = driver.session
    try:
        if kept["url"] != "about:blank":
            await tab.unless_held(tab.page.goto(kept["url"], wait_until="commit"))
            await driver.prepare(tab)
        if await tab.call("reset_session", kept["kept"]["session"]):
            await tab.unless_held(tab.page.reload(wait_until="commit"))
            await driver.prepare(tab)
        await tab.call("restore", kept["kept"])
        await settle(session)
        await tab.call("restore", {**kept["kept"], "fields": []})
    except (PageBusyError, PageGoneError, PageFailure, Error) as error:
        session.check_alive()
        raise _unsupported(f"{kept['url']}: {str(error).splitlines()[0]}") from None
    view = await _comes_back(session, tab, kept)
    if view is None:
        raise _unsupported(
            f"{kept['url']} does not come back as it was: it holds state in memory, or came from a "
            "form; repeat the actions that led to it in a new episode"
        )
    return view


async def _comes_back(
    session: BrowserSession, tab: Tab, kept: Mapping[str, Any]
) -> PageView | None:
    """Return the view of a page once it is as it was; None if it is not in time.

    What a WebSocket or a timer brings is not waited for by settling.
    """
    until = time.monotonic() + _LATE_S
    while True:
        view = await session.reader.read(tab)
        if view.digest == kept["digest"] and view.url == kept["url"]:
            return view
        if time.monotonic() > until:
            return None
        await asyncio.sleep(_POLL_S)


def _files(session: BrowserSession) -> list[Json]:
    if session.downloads.size > _FILES_BYTES:
        raise _unsupported(f"its downloads have more than {_FILES_BYTES} bytes")
    kept: list[Json] = []
    for file in session.downloads.files:
        data = b"" if file.path is None else file.path.read_bytes()
        text = base64.b64encode(data).decode()
        kept.append({"name": file.name, "data": text, "error": file.error})
    return kept


def _downloads(driver: Driver, kept: list[Mapping[str, str]]) -> list[Downloaded]:
    files = []
    for number, file in enumerate(kept):
        data = base64.b64decode(file["data"])
        path = None if file["error"] else driver.deposit(f"kept-{number}", file["name"], data)
        digest = hashlib.sha256(data).hexdigest()
        files.append(Downloaded(file["name"], path, len(data), digest, file["error"]))
    return files


def _unsupported(why: str) -> UnsupportedError:
    return UnsupportedError(f"surface 'browser': the page cannot be restored: {why}")
