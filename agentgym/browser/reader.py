"""Reads all documents of a tab into one view: the page, its frames, its shadow trees."""

from __future__ import annotations

from typing import Any, Final

from agentgym.browser.dom import Document
from agentgym.browser.tab import PageBusyError, PageFailure, PageGoneError, Tab
from agentgym.browser.view import PageView
from agentgym.gui.references import References
from agentgym.gui.tree import Budget, digest_of

_FRAME_DEPTH: Final = 4
_FRAMES: Final = 30
_VISITS: Final = 30_000
_TRIES: Final = 3
_TEXT_CHARS: Final = 200_000
_COLUMNS: Final = {"nodes": 20_000, "chars": 20_000, "total": 2_000_000}


class Reader:
    """Reads tabs with the references of one browser context.

    Args:
        references: The references.
        budget: Bounds of the tree.
    """

    def __init__(self, references: References, budget: Budget) -> None:
        self._references, self._budget = references, budget
        self._taken: tuple[Tab, dict[str, Any]] | None = None
        self._told: dict[str, dict[str, Any]] = {}

    async def wait_until_calm(
        self, tab: Tab, idle_s: float, least_s: float, most_s: float, *, seen: bool
    ) -> dict[str, Any]:
        """Wait until the main document of a tab stops changing, and tell of it.

        Args:
            tab: The tab.
            idle_s: Seconds without a change.
            least_s: Seconds to wait in any case.
            most_s: Seconds after which it is told though it goes on changing.
            seen: Whether to take a snapshot of the document at that moment, for `read`.

        Raises:
            PageBusyError: The page does not respond.
            PageGoneError: The document was replaced.
            PageFailure: The walker has refused.
        """
        self._drop_taken()
        wait = {"idle": 1000 * idle_s, "least": 1000 * least_s, "most": 1000 * most_s}
        budget = self._within(self._budget.nodes) if seen else None
        state: dict[str, Any] = await tab.call("settled", {**wait, "budget": budget})
        snapshot = state.pop("snapshot", None)
        if snapshot is not None:
            self._taken = (tab, snapshot)
        return state

    async def warm(self, tab: Tab) -> None:
        """Have the page compile what reads it; nothing gets a reference.

        Raises:
            PageBusyError: The page does not respond.
            PageGoneError: The document was replaced.
            PageFailure: The walker has refused.
        """
        await tab.call("snapshot", self._within(self._budget.nodes))

    def _drop_taken(self) -> None:
        """Forget the snapshot that was taken, except what a walker tells only once.

        This is which elements have left, and whether there may be closed shadow roots.
        """
        taken, self._taken = self._taken, None
        if taken is not None and (taken[1]["gone"] or taken[1]["suspects"]):
            self._told[taken[1]["token"]] = self._with_told(taken[1])

    def _with_told(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return a snapshot with what earlier ones of its document have told, which are dropped."""
        told = self._told.pop(found["token"], {"gone": [], "suspects": 0})
        gone = [*told["gone"], *found["gone"]]
        return {**found, "gone": gone, "suspects": told["suspects"] or found["suspects"]}

    async def read(self, tab: Tab, *, fresh: bool = False) -> PageView:
        """Return the present view of a tab; one that cannot be read says why.

        Args:
            tab: The tab.
            fresh: Whether nothing has happened since `wait_until_calm` took a snapshot of it.
        """
        found = self._taken[1] if fresh and self._taken and self._taken[0] is tab else None
        if found is None:
            self._drop_taken()
        self._taken = None
        for attempt in range(_TRIES):
            try:
                return await self._read(tab, found)
            except PageBusyError as error:
                return PageView(tab.shown_url, blocked=str(error))
            except (PageGoneError, PageFailure) as error:
                found = None
                if attempt == _TRIES - 1:
                    return PageView(tab.shown_url, blocked=str(error))
        raise AssertionError("the last attempt returns")

    async def text(self, tab: Tab) -> str:
        """Return the readable text of a tab: headings, paragraphs, tables, links, its frames.

        Raises:
            PageBusyError: The page does not respond.
            PageGoneError: The document was replaced.
        """
        return await self._text(tab, tab.main, 0)

    async def _text(self, tab: Tab, frame: str, depth: int) -> str:
        found = await tab.call("readable", _TEXT_CHARS, frame=frame)
        text = str(found["text"])
        for number in found["frames"][:_FRAMES] if depth < _FRAME_DEPTH else ():
            inner = await tab.frame_of(number, frame)
            if inner:
                text += f"\n\n[frame]\n{await self._text(tab, inner, depth + 1)}"
        return text[:_TEXT_CHARS]

    async def documents(self, tab: Tab) -> list[Document]:
        """Return all nodes of a tab's documents, the main one first; empty if it is busy."""
        found: list[Document] = []
        try:
            await self._columns(tab, tab.main, 0, found)
        except (PageBusyError, PageGoneError, PageFailure):
            return []
        return found

    async def _columns(self, tab: Tab, frame: str, depth: int, into: list[Document]) -> None:
        told = await tab.call("columns", dict(_COLUMNS), frame=frame)
        references = [
            self._references.reference(told["token"], number) if number else None
            for number in told["element"]
        ]
        document = Document(told, references)
        into.append(document)
        for at, number in told["frames"] if depth < _FRAME_DEPTH else ():
            inner = await tab.frame_of(number, frame)
            if inner and len(into) < _FRAMES:
                document.frames[at] = len(into)
                await self._columns(tab, inner, depth + 1, into)

    async def _read(self, tab: Tab, taken: dict[str, Any] | None) -> PageView:
        found = await self._document(tab, tab.main, self._budget.nodes, taken)
        tokens = [found["token"]]
        nodes: list[dict[str, Any]] = []
        left = [found["left"]]
        await self._merge(tab, tab.main, found, (0, 0), 0, nodes, tokens, left)
        self._drop_far(nodes, found["view"])
        scroll = tuple(int(value) for value in found["scroll"])
        focused = next((n["ref"] for n in reversed(nodes) if "focused" in n.get("f", ())), None)
        return PageView(
            url=found["url"],
            title=found["title"],
            nodes=nodes,
            focused=focused,
            cut=sum(left),
            scroll=scroll,
            size=(int(found["view"][0]), int(found["view"][1])),
            documents=tuple(tokens),
            ready=found["ready"],
            digest=digest_of(nodes, scroll[:2]),
        )

    def _within(self, nodes: int) -> dict[str, Any]:
        """Return the bounds of a snapshot of so many nodes."""
        return {
            "nodes": nodes,
            "visits": _VISITS,
            "ms": self._budget.ms,
            "chars": self._budget.chars,
            "near": False,
        }

    async def _document(
        self, tab: Tab, frame: str, nodes: int, taken: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Return what the walker sees in one document; twice if shadow roots were closed to it."""
        budget = self._within(nodes)
        found = self._with_told(taken or await tab.call("snapshot", budget, frame=frame))
        gone = found["gone"]
        if found["suspects"] and await self._open_roots(tab, frame):
            found = await tab.call("snapshot", budget, frame=frame)
            gone += found["gone"]
        if found["cut"]:
            # What is near the viewport matters most; the rest is counted.
            close = await tab.call("snapshot", {**budget, "near": True}, frame=frame)
            gone += close["gone"]
            if close["nodes"]:
                found = close
            found["left"] = max(found["left"], found["elements"] - len(found["nodes"]), 1)
        else:
            found["left"] = 0
        # One that had left when an earlier snapshot was taken may be back.
        present = {node["i"] for node in found["nodes"] if "i" in node}
        return {**found, "gone": [number for number in gone if number not in present]}

    async def _open_roots(self, tab: Tab, frame: str) -> bool:
        """Hand closed shadow roots to the walker; return whether there were any."""
        tree = await tab.send("DOM.getDocument", depth=-1, pierce=True)
        roots = [node["backendNodeId"] for node in _all(tree["root"]) if _is_closed_root(node)]
        for root in roots[:200]:
            await self._adopt(tab, frame, root)
        return bool(roots)

    async def _adopt(self, tab: Tab, frame: str, backend: int) -> None:
        world = await tab.world(frame)
        try:
            found = await tab.send(
                "DOM.resolveNode", backendNodeId=backend, executionContextId=world
            )
            await tab.send(
                "Runtime.callFunctionOn",
                functionDeclaration="function() { walker.adopt(this); }",
                objectId=found["object"]["objectId"],
            )
        except PageGoneError:
            return  # it belongs to a document of another frame

    async def _merge(
        self,
        tab: Tab,
        frame: str,
        found: dict[str, Any],
        offset: tuple[float, float],
        depth: int,
        into: list[dict[str, Any]],
        tokens: list[str],
        left: list[int],
    ) -> None:
        """Add the nodes of a document, each frame's below its element."""
        self._references.assign(frame, found["token"], found["nodes"], found["gone"])
        base = into[-1]["d"] + 1 if into and depth else 0
        for node in found["nodes"]:
            node["d"] += base
            if "b" in node:
                node["b"][0] += round(offset[0])
                node["b"][1] += round(offset[1])
            into.append(node)
            inner = node["r"] == "iframe" and depth < _FRAME_DEPTH and len(tokens) < _FRAMES
            if inner and len(into) < self._budget.nodes:
                await self._frame(tab, frame, node, offset, depth, into, tokens, left)

    async def _frame(
        self,
        tab: Tab,
        frame: str,
        node: dict[str, Any],
        offset: tuple[float, float],
        depth: int,
        into: list[dict[str, Any]],
        tokens: list[str],
        left: list[int],
    ) -> None:
        try:
            inner = await tab.frame_of(node["i"], frame)
            if not inner:
                return
            place = await tab.call("frame", node["i"], frame=frame)
            found = await self._document(tab, inner, self._budget.nodes - len(into))
        except (PageGoneError, PageFailure):
            return  # the frame has gone since its parent was read
        tokens.append(found["token"])
        left.append(found["left"])
        there = (offset[0] + place["x"], offset[1] + place["y"])
        await self._merge(tab, inner, found, there, depth + 1, into, tokens, left)

    def _drop_far(self, nodes: list[dict[str, Any]], view: list[float]) -> None:
        """Flag elements of frames that lie outside the viewport of the page."""
        for node in nodes:
            box = node.get("b")
            if not box or node["r"] == "option" or "offscreen" in node.get("f", ()):
                continue
            outside = box[0] >= view[0] or box[1] >= view[1]
            if outside or box[0] + box[2] <= 0 or box[1] + box[3] <= 0:
                node.setdefault("f", []).append("offscreen")


def _all(node: dict[str, Any]) -> list[dict[str, Any]]:
    found, waiting = [], [node]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting += node.get("children", [])
        waiting += node.get("shadowRoots", [])
        if "contentDocument" in node:
            waiting.append(node["contentDocument"])
    return found


def _is_closed_root(node: dict[str, Any]) -> bool:
    return node.get("shadowRootType") == "closed"
