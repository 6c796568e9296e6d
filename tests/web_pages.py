"""A web application of pages given as text, and an agent that looks at them in a browser."""

from __future__ import annotations

import inspect

from agentgym.protocols import Sites, SurfaceContext
from agentgym.records import Action
from agentgym.sandbox.absent import NoSandbox

HOST = "pages.example"


class WebPages:
    """An ASGI application: a page by its path, as HTML, bytes, or a function of the request.

    A function gets the method and the body, and returns HTML or (status, headers, body).
    """

    def __init__(self, pages):
        self.pages = pages if isinstance(pages, dict) else {"/": pages}
        self.asked = []

    def context(self, start=None, sandbox=None):
        sites = Sites(self, frozenset((HOST, "other.example")), start or f"http://{HOST}/")
        return SurfaceContext(sandbox or NoSandbox(), None, sites)

    async def __call__(self, scope, receive, send):
        body = b""
        while (message := await receive())["type"] == "http.request":
            body += message["body"]
            if not message["more_body"]:
                break
        path = scope["path"]
        self.asked.append((scope["method"], path, body))
        page = self.pages.get(path, (404, [], b"no such page"))
        if callable(page):
            page = page(scope, body)
            if inspect.isawaitable(page):
                page = await page
        if inspect.isasyncgen(page):
            await send({"type": "http.response.start", "status": 200, "headers": await anext(page)})
            async for part in page:
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            return
        status, headers, content = page if isinstance(page, tuple) else (200, [], page)
        data = content.encode() if isinstance(content, str) else content
        named = {name for name, _ in headers}
        if b"content-type" not in named:
            headers = [*headers, (b"content-type", b"text/html; charset=utf-8")]
        headers = [*headers, (b"content-length", str(len(data)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": data})


class Visit:
    """An agent at a page: acts by role and name, and keeps what it saw last."""

    def __init__(self, surface, web, kind):
        self.surface, self.web, self.kind = surface, web, kind
        self.seen = None

    async def look(self):
        self.seen = await self.surface.observe()
        return self.seen

    async def act(self, tool, **arguments):
        self.seen = await self.surface.call(Action(tool, arguments))
        return self.seen

    async def click(self, role, name=None, **more):
        return await self.act("click", ref=self.ref(role, name), **more)

    @property
    def text(self):
        return self.seen.text

    @property
    def nodes(self):
        return self.seen.data["nodes"]

    @property
    def last(self):
        return next(line for line in self.text.splitlines() if line.startswith("last: "))[6:]

    def node(self, role, name=None):
        for node in self.nodes:
            if node["role"] == role and (name is None or node["name"] == name):
                return node
        raise AssertionError(f"no {role} {name!r} in\n{self.text}")

    def ref(self, role, name=None):
        return self.node(role, name)["ref"]
