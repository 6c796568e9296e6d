"""One site of one episode as an ASGI application: bounded requests in, answers out.

Views run on a thread under the watchdog of the services, so that neither their calls nor their
templates hold up the event loop. Whatever a request contains, and whatever a view raises, the
answer is a page: 4xx if the request is at fault, 500 if the site is, which is recorded.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agentgym.errors import ServiceError, pass_interruptions
from agentgym.protocols import ASGIMessage
from agentgym.records.pattern import fits_glob
from agentgym.services.budget import WATCHDOG, CallLimits
from agentgym.services.openapi import STATUS
from agentgym.sites.body import BadRequestError, Fields, Upload, multipart, path_of, urlencoded
from agentgym.sites.load import LoadedSite
from agentgym.sites.pages import SHARED
from agentgym.sites.request import Live, Request
from agentgym.sites.response import HTML, Response
from agentgym.sites.script_policy import script_policy
from agentgym.sites.session import COOKIE, Session
from agentgym.sites.static_files import static_file
from agentgym.threads import COMPUTING, FILES

LIMITS: Final = CallLimits()
"""Limits of one request: processor time, wall time and memory, as for one call of a tool."""

_MOST_COOKIES: Final = 8

_REASONS: Final = {
    400: "This request is malformed",
    403: "This is not permitted",
    404: "Not found",
    405: "This is not possible here",
    409: "This is not possible now",
    413: "This is too much",
    415: "This kind of content is not understood",
    422: "This cannot be accepted",
    500: "The site has failed",
    503: "The site is not available",
}


@dataclass(frozen=True, slots=True)
class SiteFailure:
    """A request that a site's own code has failed to answer.

    Attributes:
        host: Host of the site.
        request: Method and path.
        raised: The exception as text.
    """

    host: str
    request: str
    raised: str


class SiteApplication:
    """An ASGI application.

    Args:
        site: The loaded site.
        live: The services and the seed of one episode.
        report: Called with every failure of the site's own code.
    """

    def __init__(self, site: LoadedSite, live: Live, report: Callable[[SiteFailure], None]) -> None:
        self._site, self._live, self._report = site, live, report

    async def __call__(
        self,
        scope: ASGIMessage,
        receive: Callable[[], Awaitable[ASGIMessage]],
        send: Callable[[ASGIMessage], Awaitable[None]],
    ) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            raise ValueError(f"a site answers HTTP, not {scope['type']}")
        session = Session(self._live.key, *_cookies(scope))
        try:
            body = await _body(receive, self._site.manifest.max_body_kb * 1024)
            threads = FILES if self._waits else COMPUTING
            response = await threads.finish(self._answered, scope, session, body)
        except BadRequestError as error:
            response = self._refusal(error.status, str(error))
        await _respond(scope, send, response)

    @property
    def _waits(self) -> bool:
        return self._live.services is not None and self._live.services.waits

    def _answered(self, scope: ASGIMessage, session: Session, body: bytes) -> Response:
        """Return the answer to a request, within the limits of one request."""
        failed = ""
        watched = WATCHDOG.watch(LIMITS, lambda: None)
        try:
            try:
                return _with_cookie(self._answer(scope, session, body), session)
            finally:
                WATCHDOG.leave(watched)
        except BadRequestError as error:
            return self._refusal(error.status, str(error))
        except ServiceError as error:
            status = STATUS.get(error.code, 500)
            return self._refusal(status if status != 422 else 400, error.message)
        except BaseException as error:  # noqa: BLE001
            pass_interruptions(error)
            # Whatever a view or a template raises, the site is at fault, not the host.
            WATCHDOG.leave(watched)
            over = watched.over if watched else ""
            failed = over or f"{type(error).__name__}: {error}"[:500]
        where = f"{scope['method']} {scope['path']}"[:200]
        self._report(SiteFailure(self._site.manifest.host, where, failed))
        return self._refusal(500, "The mistake is not yours. It has been recorded.")

    def _answer(self, scope: ASGIMessage, session: Session, body: bytes) -> Response:
        path = path_of(scope.get("raw_path") or scope["path"].encode())
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        if method not in ("GET", "POST"):
            raise BadRequestError(405, f"{scope['method'][:20]} is not possible here")
        if method == "GET" and path.startswith("/_shared/"):
            return static_file(SHARED / "assets", path.removeprefix("/_shared"))
        if method == "GET" and path.startswith("/static/") and self._site.site is not None:
            return static_file(self._site.folder / "static", path.removeprefix("/static"))
        request = self._request(scope, method, path, session, body)
        if path.startswith("/api/") and self._site.manifest.tools:
            return self._called(request, path.removeprefix("/api/"))
        if self._site.site is None:
            if method != "GET":
                raise BadRequestError(405, "the pages of this site are static")
            assert self._site.static is not None, "a site without views has static pages"
            return self._static_page(self._site.static, path)
        view, parts = self._site.site.find(method, path)
        if method == "POST" and not session.is_own(request.fields.get("csrf")):
            raise BadRequestError(403, "the form has no valid token; load its page again")
        return view(request, **parts)

    def _static_page(self, folder: Path, path: str) -> Response:
        manifest = self._site.manifest
        response = static_file(folder, path, manifest.fallback)
        if not manifest.own_scripts or response.type != HTML:
            return response
        evaluating = any(fits_glob(path.lstrip("/"), glob) for glob in manifest.evaluating)
        policy = script_policy(response.body, manifest.handlers, evaluating=evaluating)
        headers = {**response.headers, "content-security-policy": policy}
        return replace(response, headers=headers)

    def _request(
        self, scope: ASGIMessage, method: str, path: str, session: Session, body: bytes
    ) -> Request:
        headers = _headers(scope)
        kind = headers.get("content-type", "")
        fields, files, values = Fields(), dict[str, list[Upload]](), None
        if method == "POST":
            host = headers.get("host", "")
            origin = headers.get("origin", f"http://{host}")
            if origin.split("://", 1)[-1] != host:
                raise BadRequestError(403, "the form belongs to another site")
            main = kind.split(";", 1)[0].strip().lower()
            if main == "multipart/form-data":
                fields, files = multipart(kind, body)
            elif main == "application/json":
                values = _json(body)
            elif main in ("application/x-www-form-urlencoded", "") or not body:
                fields = urlencoded(body)
            else:
                raise BadRequestError(415, f"expected a form, got {main[:80]}")
        return Request(
            method=method,
            path=path,
            host=self._site.manifest.host,
            query=urlencoded(scope.get("query_string", b"")),
            fields=fields,
            files=files,
            json=values,
            session=session,
            vary=self._live.variation,
            _live=self._live,
            _pages=self._site.pages,
        )

    def _called(self, request: Request, tool: str) -> Response:
        """Answer the script of a page that calls a tool of the services."""
        if request.method != "POST":
            raise BadRequestError(405, "a tool is called by POST")
        if not any(fits_glob(tool, glob) for glob in self._site.manifest.tools):
            raise BadRequestError(404, f"this site offers no tool {tool[:80]!r}")
        if not isinstance(request.json, dict):
            raise BadRequestError(415, "expected the arguments as a JSON object")
        status, answer = 200, {}
        try:
            answer = {"result": request.call(tool, **request.json)}
        except ServiceError as error:
            status = STATUS.get(error.code, 500)
            answer = {"error": {"code": error.code, "message": error.message, "field": error.field}}
        text = json.dumps(answer, ensure_ascii=False)
        return Response(text.encode(), status, "application/json")

    def _refusal(self, status: int, message: str) -> Response:
        reason = _REASONS.get(status, "This is not possible")
        text = self._site.error_page(status, reason, message, self._live.variation)
        return Response(text.encode(), status)


def _with_cookie(response: Response, session: Session) -> Response:
    cookie = session.cookie()
    if cookie is None:
        return response
    return replace(response, headers={**response.headers, "set-cookie": cookie})


def _headers(scope: ASGIMessage) -> Mapping[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }


def _cookies(scope: ASGIMessage) -> list[str]:
    """Return the values of all cookies with the session's name: a client may send several."""
    headers = [value for name, value in scope["headers"] if name.lower() == b"cookie"]
    pairs = [pair.partition("=") for line in headers for pair in line.decode("latin-1").split(";")]
    return [value.strip() for name, _, value in pairs if name.strip() == COOKIE][:_MOST_COOKIES]


def _json(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise BadRequestError(400, "the body is not JSON") from None


async def _body(receive: Callable[[], Awaitable[ASGIMessage]], most_bytes: int) -> bytes:
    """Return the body of a request.

    Raises:
        BadRequestError: It is too large, or the browser has gone.
    """
    parts, size = list[bytes](), 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise BadRequestError(400, "the request was broken off")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most_bytes:
            raise BadRequestError(413, f"the request has more than {most_bytes // 1024:,} kB")
        if not message.get("more_body", False):
            return b"".join(parts)


async def _respond(
    scope: ASGIMessage,
    send: Callable[[ASGIMessage], Awaitable[None]],
    response: Response,
) -> None:
    headers = {
        "content-type": response.type,
        "content-length": str(len(response.body)),
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
        **response.headers,
    }
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": response.status, "headers": raw})
    body = b"" if scope["method"] == "HEAD" else response.body
    await send({"type": "http.response.body", "body": body})
