"""One tab: its documents, read from an isolated world, and whether it is loading."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, TypeVar

from agentgym.errors import SurfaceLostError

if TYPE_CHECKING:
    from playwright.async_api import CDPSession, Dialog, Page

T = TypeVar("T")

WORLD: Final = "agentgym"
ANSWER_S: Final = 6.0
"""Seconds that a page may take to answer; one that is busy for longer does not respond."""
_SLICE_S: Final = 0.25
_URL_CHARS: Final = 8_000
_LASTING: Final = frozenset(("EventSource", "WebSocket", "Ping"))
"""Kinds of requests that do not end with an answer."""


class PageBusyError(Exception):
    """The page does not respond, or a dialog holds it."""


class PageGoneError(Exception):
    """The document was replaced while it was read, or its frame has gone."""


class PageFailure(Exception):
    """A function of the walker has refused; the message says why."""


@lru_cache(maxsize=1)
def walker_source() -> str:
    """Return the program that reads documents."""
    return files("agentgym.browser").joinpath("walker.js").read_text(encoding="utf-8")


class Tab:
    """A page of a browser context; `prepare` it once.

    Attributes:
        page: Playwright's page.
        cdp: A session of the DevTools protocol with it.
        main: Id of its main frame.
        title: The title that was last seen.
        url: The address that was last seen.
        dialog: The dialog that is open, None if none is.
        silenced: Whether the document has opened so many dialogs that it may open no more.
        stirred: `time.monotonic` of when a document or a request last began or ended.
        navigated: `time.monotonic` of when it last got another document.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.cdp: CDPSession
        self.main = self.title = self.url = ""
        self.dialog: Dialog | None = None
        self.held = asyncio.Event()
        self.crashed = self.silenced = False
        self._worlds: dict[str, int] = {}
        self._loading: set[str] = set()
        self._asked = self.stirred = self.navigated = 0.0
        self._requests: dict[str, str] = {}

    async def prepare(self) -> None:
        """Connect to the page."""
        self.cdp = await self.page.context.new_cdp_session(self.page)
        on = self.cdp.on
        on("Page.frameStartedLoading", self._started)
        on("Page.frameStoppedLoading", self._stopped)
        on("Page.frameDetached", self._stopped)
        on("Page.frameRequestedNavigation", self._requested)
        on("Page.frameNavigated", self._navigated)
        on("Network.requestWillBeSent", self._request)
        on("Network.loadingFinished", self._answered)
        on("Network.loadingFailed", self._answered)
        self.page.on("crash", self._crash)
        script = {"source": walker_source(), "worldName": WORLD}
        answers: list[dict[str, Any]] = await asyncio.gather(
            self.cdp.send("Page.enable"),
            self.cdp.send("Network.enable", {"maxTotalBufferSize": 0}),
            self.cdp.send("Page.addScriptToEvaluateOnNewDocument", script),
            self.cdp.send("Page.getFrameTree"),
        )
        self.main = answers[3]["frameTree"]["frame"]["id"]

    def _requested(self, event: dict[str, Any]) -> None:
        if event.get("disposition", "currentTab") == "currentTab":
            self._asked = time.monotonic()

    def _started(self, event: dict[str, Any]) -> None:
        self.stirred = time.monotonic()
        self._loading.add(event["frameId"])

    def _navigated(self, event: dict[str, Any]) -> None:
        self.stirred = time.monotonic()
        frame = event["frame"]
        self._worlds.pop(frame["id"], None)
        if frame["id"] == self.main:
            self.navigated = self.stirred
            self.silenced = False
            # The ends of requests of a document that was left are not always reported.
            loader = frame["loaderId"]
            self._requests = {id: by for id, by in self._requests.items() if by == loader}

    def _stopped(self, event: dict[str, Any]) -> None:
        self._loading.discard(event["frameId"])
        self._asked = 0.0
        self.stirred = time.monotonic()

    def _request(self, event: dict[str, Any]) -> None:
        if event.get("type") not in _LASTING and event["request"]["url"].startswith("http"):
            self._requests[event["requestId"]] = event["loaderId"]
            self.stirred = time.monotonic()

    def _answered(self, event: dict[str, Any]) -> None:
        self._requests.pop(event["requestId"], None)
        self.stirred = time.monotonic()

    def begin_action(self) -> None:
        """Forget the requests that did not end: no action waits for those before it."""
        self._requests.clear()
        self._loading.clear()

    def _crash(self, _: object) -> None:
        self.crashed = True
        self.held.set()

    @property
    def shown_url(self) -> str:
        """Its present address, cut where a script has made it too long for a request."""
        return self.page.url[:_URL_CHARS]

    @property
    def loading(self) -> bool:
        """Whether a document or a part of it is being loaded, or is about to."""
        return bool(self._loading or self._requests) or time.monotonic() - self._asked < _SLICE_S

    async def unless_held(self, work: Awaitable[T], limit_s: float | None = None) -> T:
        """Wait for something that a dialog or a busy page may hold.

        Raises:
            PageBusyError: The page has crashed, a dialog is open, or the time has passed.
        """
        limit_s = ANSWER_S if limit_s is None else limit_s
        task = asyncio.ensure_future(work)
        held = asyncio.ensure_future(self.held.wait())
        try:
            await asyncio.wait({task, held}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
        finally:
            held.cancel()
            task.cancel()
        if self.crashed:
            raise PageBusyError("the page has crashed; goto loads it again")
        if self.dialog is not None:
            raise PageBusyError("a dialog is open; answer it with dialog")
        raise PageBusyError(f"the page does not respond within {limit_s:g} s")

    async def call(self, function: str, *arguments: object, frame: str = "") -> Any:
        """Call a function of the walker in a frame, and return its result.

        Raises:
            PageBusyError: The page does not respond.
            PageGoneError: The document was replaced.
            PageFailure: The function has refused.
        """
        return await self._invoke(function, arguments, frame or self.main, by_value=True)

    async def handle(self, number: int, frame: str) -> str:
        """Return the protocol's id of an element in a frame."""
        return str(await self._invoke("element", (number,), frame, by_value=False))

    async def _invoke(
        self, function: str, arguments: tuple[object, ...], frame: str, *, by_value: bool
    ) -> Any:
        body = f"function(...a) {{ return globalThis.walker ? walker.{function}(...a) : '?'; }}"
        for _ in range(3):
            world = await self.world(frame)
            answer = await self._send(
                "Runtime.callFunctionOn",
                {
                    "functionDeclaration": body,
                    "executionContextId": world,
                    "arguments": [{"value": argument} for argument in arguments],
                    "returnByValue": by_value,
                    "awaitPromise": True,
                },
            )
            if answer is None:
                self._worlds.pop(frame, None)
                continue
            failure = answer.get("exceptionDetails")
            if failure is not None:
                said = str(failure.get("exception", {}).get("description", failure["text"]))
                raise PageFailure(said.splitlines()[0].removeprefix("Error: "))
            result = answer["result"]
            if result.get("value") == "?":
                await self._send(
                    "Runtime.evaluate", {"expression": walker_source(), "contextId": world}
                )
                continue
            return result.get("value") if by_value else result["objectId"]
        raise PageGoneError("the document was replaced")

    async def frame_of(self, number: int, frame: str) -> str:
        """Return the id of the frame that an element holds; empty if it holds none."""
        handle = await self.handle(number, frame)
        told = await self.send("DOM.describeNode", objectId=handle)
        return str(told["node"].get("frameId", ""))

    async def world(self, frame: str) -> int:
        """Return the id of the walker's world in a frame."""
        known = self._worlds.get(frame)
        if known is not None:
            return known
        made = await self._send("Page.createIsolatedWorld", {"frameId": frame, "worldName": WORLD})
        if made is None:
            raise PageGoneError("the frame has gone")
        world = int(made["executionContextId"])
        self._worlds[frame] = world
        return world

    async def _send(self, method: str, parameters: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer of the protocol; None if the document is gone."""
        from playwright.async_api import Error

        try:
            answer: dict[str, Any] = await self.unless_held(self.cdp.send(method, parameters))
        except Error as error:
            if not alive(self.page):
                raise ended(self.page) from None
            del error
            return None
        return answer

    async def send(self, method: str, **parameters: object) -> dict[str, Any]:
        """Call the DevTools protocol.

        Raises:
            PageBusyError: The page does not respond.
            PageGoneError: The call was refused.
        """
        answer = await self._send(method, dict(parameters))
        if answer is None:
            raise PageGoneError(f"{method} was refused")
        return answer


def alive(page: Page) -> bool:
    """Return whether the browser of a page runs and the page is open."""
    browser = page.context.browser
    return not page.is_closed() and browser is not None and browser.is_connected()


def ended(page: Page) -> Exception:
    """Return the error of a page that is not alive."""
    browser = page.context.browser
    if browser is not None and browser.is_connected():
        return PageGoneError("the tab was closed")
    return SurfaceLostError("the browser has ended during the episode")
