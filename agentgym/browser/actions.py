"""The actions of an agent in a browser, by reference or by coordinate."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from agentgym.browser.session import LOAD_S, TABS, BrowserSession
from agentgym.browser.tab import ANSWER_S, PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.gui.keys import chord
from agentgym.gui.references import Handle
from agentgym.gui.refusal import Refusal

_TYPED_CHARS: Final = 60
_KEY_S: Final = 0.2
"""Time that a page may take for a key, beside that for the whole; a busy machine takes half."""

_DRAG_STEPS: Final = 8
_WHEEL_S: Final = 0.05
"""The wheel takes a frame or two to move what lies under it."""


class Actions:
    """Executes actions in a browser session, on the engine's loop.

    Args:
        session: The session.
        base: Address against which relative ones are resolved where no page is open.
    """

    def __init__(self, session: BrowserSession, base: str) -> None:
        self._session, self._base = session, base
        self._done: dict[str, Callable[..., Awaitable[None]]] = {
            "click": self._click,
            "type": self._type,
            "select": self._select,
            "press": self._press,
            "hover": self._hover,
            "drag": self._drag,
            "scroll": self._scroll,
            "upload": self._upload,
            "goto": self._goto,
            "back": lambda: self._history(-1),
            "forward": lambda: self._history(1),
            "reload": self._reload,
            "tab_new": self._tab_new,
            "tab_switch": self._tab_switch,
            "tab_close": self._tab_close,
            "dialog": self._dialog,
            "wait": self._wait,
        }

    async def execute(self, tool: str, arguments: Mapping[str, Any]) -> None:
        """Execute a schema-valid action.

        Raises:
            Refusal: It cannot be done.
            SurfaceError: The browser has ended.
        """
        from playwright.async_api import Error

        session = self._session
        tab = session.tab
        if tab.dialog is not None and tool not in ("dialog", "tab_switch", "tab_close"):
            raise Refusal(
                f'a dialog is open, {tab.dialog.type} "{tab.dialog.message[:200]}"; '
                "answer it with dialog first"
            )
        try:
            await self._done[tool](**arguments)
        except PageFailure as failure:
            raise Refusal(_plain(str(failure), arguments.get("ref"))) from None
        except PageGoneError:
            return  # the action has led to another document
        except PageBusyError as busy:
            if session.tab.dialog is None:
                raise Refusal(str(busy)) from None
        except Error as error:
            session.check_alive()
            raise Refusal(_first_line(error)) from None

    # --- elements ---

    def _handle(self, ref: int) -> Handle:
        handle = self._session.references.find(ref)
        if handle is None:
            raise Refusal(f"no element has had the reference [{ref}]; use one of the present tree")
        return handle

    async def _offset(self, tab: Tab, handle: Handle) -> tuple[float, float]:
        """Return the place of a frame in the viewport of its page."""
        if handle.frame == tab.main:
            return 0.0, 0.0
        found = await tab.send("DOM.getFrameOwner", frameId=handle.frame)
        box = await tab.send("DOM.getBoxModel", backendNodeId=found["backendNodeId"])
        return float(box["model"]["content"][0]), float(box["model"]["content"][1])

    async def _ask(self, function: str, ref: int, *arguments: object) -> tuple[Handle, Any]:
        handle, tab = self._handle(ref), self._session.tab
        try:
            if await tab.call("token_", frame=handle.frame) != handle.document:
                raise PageFailure("gone")
            return handle, await tab.call(function, handle.number, *arguments, frame=handle.frame)
        except (PageFailure, PageGoneError) as failure:
            if isinstance(failure, PageGoneError) or str(failure) == "gone":
                raise Refusal(
                    f"[{ref}] {handle.label} is not on the page any more; look at the present tree"
                ) from None
            raise

    async def _point(
        self, ref: int | None, x: float | None, y: float | None, *, enabled: bool = False
    ) -> tuple[float, float]:
        """Return where to act: the free point of an element, or the coordinates.

        Raises:
            Refusal: The element cannot be reached, or the point lies outside.
        """
        tab = self._session.tab
        if ref is None:
            if x is None or y is None:
                raise Refusal("expected ref, or both x and y")
            width, height = await self._size(tab)
            if not (0 <= x < width and 0 <= y < height):
                raise Refusal(
                    f"({x:g}, {y:g}) lies outside the viewport of {width} × {height} pixels"
                )
            return x, y
        handle, found = await self._ask("point", ref)
        if enabled and found["disabled"]:
            raise Refusal(f"[{ref}] {handle.label} is disabled")
        if found["state"] == "covered":
            raise Refusal(f"[{ref}] {handle.label} is covered by {found['cover']}")
        if found["state"]:
            raise Refusal(f"[{ref}] {handle.label} has no place on the screen where it can be hit")
        left, top = await self._offset(tab, handle)
        return found["x"] + left, found["y"] + top

    async def _size(self, tab: Tab) -> tuple[int, int]:
        size = tab.page.viewport_size
        return (size["width"], size["height"]) if size else (1280, 720)

    # --- pointer ---

    async def _click(
        self,
        ref: int | None = None,
        x: float | None = None,
        y: float | None = None,
        button: str = "left",
        count: int = 1,
        modifiers: Sequence[str] = (),
    ) -> None:
        if ref is not None and await self._is_option(ref):
            return
        at = await self._point(ref, x, y, enabled=True)
        tab = self._session.tab
        keyboard = tab.page.keyboard
        for modifier in modifiers:
            await tab.unless_held(keyboard.down(modifier))
        try:
            mouse = tab.page.mouse
            await tab.unless_held(mouse.click(*at, button=_button(button), click_count=count))
        finally:
            for modifier in modifiers:
                await _quietly(tab, keyboard.up(modifier))

    async def _is_option(self, ref: int) -> bool:
        """Select an option of a closed list, which has no place of its own on the screen."""
        handle = self._handle(ref)
        if not handle.label.startswith("option"):
            return False
        _, done = await self._ask("pick", ref)
        if done is None:
            return False
        _refuse(ref, handle, done)
        return True

    async def _hover(
        self, ref: int | None = None, x: float | None = None, y: float | None = None
    ) -> None:
        at = await self._point(ref, x, y)
        tab = self._session.tab
        await tab.unless_held(tab.page.mouse.move(*at))

    async def _drag(
        self,
        from_ref: int | None = None,
        to_ref: int | None = None,
        from_x: float | None = None,
        from_y: float | None = None,
        to_x: float | None = None,
        to_y: float | None = None,
    ) -> None:
        end = await self._point(to_ref, to_x, to_y)
        start = await self._point(from_ref, from_x, from_y)
        if to_ref is not None:
            end = await self._point(to_ref, None, None) if from_ref is None else end
        tab = self._session.tab
        mouse = tab.page.mouse
        await tab.unless_held(mouse.move(*start))
        await tab.unless_held(mouse.down())
        try:
            await tab.unless_held(mouse.move(*end, steps=_DRAG_STEPS))
        finally:
            await _quietly(tab, mouse.up())

    async def _scroll(
        self,
        ref: int | None = None,
        direction: str | None = None,
        amount: float = 0.8,
        x: float | None = None,
        y: float | None = None,
    ) -> None:
        if ref is not None and direction is None:
            await self._ask("show", ref)
            return
        dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[
            direction or "down"
        ]
        if ref is not None:
            await self._ask("scroll", ref, dx * amount, dy * amount)
        elif x is not None or y is not None:
            tab = self._session.tab
            await tab.unless_held(tab.page.mouse.move(*await self._point(None, x, y)))
            width, height = await self._size(tab)
            await tab.unless_held(tab.page.mouse.wheel(dx * amount * width, dy * amount * height))
            await asyncio.sleep(_WHEEL_S)
        else:
            await self._session.tab.call("scroll", 0, dx * amount, dy * amount)

    # --- keyboard and forms ---

    async def _type(
        self, text: str, ref: int | None = None, clear: bool = True, submit: bool = False
    ) -> None:
        tab = self._session.tab
        keyboard = tab.page.keyboard
        done: dict[str, Any] = {}
        if ref is not None:
            handle, done = await self._ask("fill", ref, text, clear)
            _refuse(ref, handle, done)
        if not done.get("done"):
            if clear and ref is not None and not text and not done.get("empty"):
                await tab.unless_held(keyboard.press("Delete"))
            elif len(text) > _TYPED_CHARS or "\n" in text or not text.isascii():
                await tab.unless_held(keyboard.insert_text(text))
            elif text:
                limit_s = ANSWER_S + _KEY_S * len(text)
                await tab.unless_held(keyboard.type(text), limit_s)
        if submit:
            await tab.unless_held(keyboard.press("Enter"))

    async def _press(self, keys: str, ref: int | None = None) -> None:
        presses = [chord(part) for part in keys.split(" ") if part]
        if not presses:
            raise Refusal("expected a key such as Enter, Control+A or ArrowDown")
        if ref is not None:
            await self._ask("focus", ref)
        tab = self._session.tab
        for press in presses:
            await tab.unless_held(tab.page.keyboard.press(press))

    async def _select(self, ref: int, values: Sequence[str]) -> None:
        handle, done = await self._ask("choose", ref, list(values))
        _refuse(ref, handle, done)

    async def _upload(self, ref: int, files: Sequence[Path]) -> None:
        handle, found = await self._ask("point", ref)
        if found["type"] != "file":
            raise Refusal(f"[{ref}] {handle.label} takes no files")
        tab = self._session.tab
        element = await tab.handle(handle.number, handle.frame)
        await tab.send(
            "DOM.setFileInputFiles", objectId=element, files=[str(path) for path in files]
        )

    # --- navigation ---

    async def _goto(self, url: str) -> None:
        tab = self._session.tab
        here = tab.page.url if tab.page.url.startswith("http") else self._base
        address = url.strip()
        if "://" not in address and not address.startswith(("/", "?", "#", "about:")):
            first = address.split("/")[0]
            address = f"http://{address}" if "." in first else address
        try:
            if "://" in address and not urlsplit(address).netloc:
                raise Refusal(f"{url[:200]!r} names no host")
            address = urljoin(here, address)
        except ValueError as error:
            raise Refusal(f"{url[:200]!r} is no address: {error}") from None
        if address != "about:blank" and urlsplit(address).scheme not in ("http", "https"):
            raise Refusal(f"only http:// addresses can be opened, not {url[:200]!r}")
        try:
            opened = await tab.unless_held(tab.cdp.send("Page.navigate", {"url": address}), LOAD_S)
        except PageBusyError:
            if tab.dialog is not None or tab.crashed:
                raise
            await _quietly(tab, tab.cdp.send("Page.stopLoading"))
            raise Refusal(f"{address}: no answer within {LOAD_S:g} s") from None
        # A download, or another navigation of the page, is reported as aborted.
        failure = str(opened.get("errorText", ""))
        if failure and failure != "net::ERR_ABORTED":
            raise Refusal(f"{address}: {failure}")

    async def _history(self, by: int) -> None:
        tab = self._session.tab
        history = await tab.send("Page.getNavigationHistory")
        index = history["currentIndex"] + by
        word = "back" if by < 0 else "forward"
        entries = history["entries"]
        if not 0 <= index < len(entries) or not entries[index]["url"].startswith("http"):
            raise Refusal(f"there is no page to go {word} to")
        await tab.send("Page.navigateToHistoryEntry", entryId=entries[index]["id"])
        await asyncio.sleep(0.05)

    async def _reload(self) -> None:
        tab = self._session.tab
        await tab.unless_held(
            tab.page.reload(wait_until="commit", timeout=LOAD_S * 1000), LOAD_S + 2
        )

    async def _tab_new(self, url: str | None = None) -> None:
        if len(self._session.tabs) >= TABS:
            raise Refusal(f"there are {TABS} tabs already; close one first")
        await self._session.new_tab()
        if url is not None:
            await self._goto(url)

    async def _tab_switch(self, tab: int) -> None:
        if not 1 <= tab <= len(self._session.tabs):
            raise Refusal(f"there is no tab {tab}; there are {len(self._session.tabs)}")
        self._session.switch(tab)
        await self._session.tab.unless_held(self._session.tab.page.bring_to_front())

    async def _tab_close(self, tab: int | None = None) -> None:
        tabs = self._session.tabs
        if tab is not None and not 1 <= tab <= len(tabs):
            raise Refusal(f"there is no tab {tab}; there are {len(tabs)}")
        await self._session.close_tab(self._session.tab if tab is None else tabs[tab - 1])

    async def _dialog(self, accept: bool, text: str | None = None) -> None:
        tab = self._session.tab
        if tab.dialog is None:
            raise Refusal("no dialog is open")
        await self._session.answer_dialog(tab, accept=accept, text=text)

    async def _wait(self, seconds: float = 1.0) -> None:
        await self._session.tab.unless_held(asyncio.sleep(seconds), seconds + 1)


async def _quietly(tab: Tab, work: Awaitable[object]) -> None:
    from playwright.async_api import Error

    try:
        await tab.unless_held(work)
    except (PageBusyError, Error):
        return  # the page is held or gone: nothing is left to release


def _button(name: str) -> Any:
    return name


def _refuse(ref: int, handle: Handle, done: Mapping[str, Any] | None) -> None:
    if done and "error" in done:
        raise Refusal(f"[{ref}] {handle.label}: {done['error']}")


def _plain(failure: str, ref: object) -> str:
    return f"[{ref}]: {failure}" if ref is not None else failure


def _first_line(error: Exception) -> str:
    line = str(error).strip().splitlines()[0]
    return line.split(": ", 1)[-1].split(" at http")[0][:300]
