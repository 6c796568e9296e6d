"""The requests of a browser as an HTTP Archive (HAR 1.2), without times and bodies.

Records hold no times, so that equal episodes have equal records; a HAR needs them, so they are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from agentgym.records import Json, WebRequest

_BEGAN: Final = "1970-01-01T00:00:00.000Z"
_FIELDS: Final = 200


def to_har(requests: Sequence[WebRequest]) -> dict[str, Json]:
    """Return requests as the content of a ``.har`` file; their steps are its pages."""
    steps = sorted({request.step for request in requests})
    pages: list[Json] = [
        {
            "startedDateTime": _BEGAN,
            "id": f"step-{step}",
            "title": f"step {step}" if step else "the first page",
            "pageTimings": {},
        }
        for step in steps
    ]
    entries: list[Json] = [_entry(request) for request in requests]
    creator: Json = {"name": "agentgym", "version": "1"}
    return {"log": {"version": "1.2", "creator": creator, "pages": pages, "entries": entries}}


def _entry(request: WebRequest) -> Json:
    marks: dict[str, Json] = {
        "_mutating": request.mutating,
        "_destructive": request.destructive,
        "_refused": request.refused,
        "_failed": request.failed,
    }
    return {
        "pageref": f"step-{request.step}",
        "startedDateTime": _BEGAN,
        "time": 0,
        "cache": {},
        "timings": {"send": 0, "wait": 0, "receive": 0},
        "request": {
            "method": request.method,
            "url": request.url,
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "queryString": _query(request.url),
            "headersSize": -1,
            "bodySize": request.request_bytes,
        },
        "response": {
            "status": request.status,
            "statusText": _phrase(request.status),
            "httpVersion": "HTTP/1.1",
            "cookies": [],
            "headers": [],
            "content": {"size": request.response_bytes, "mimeType": request.mime},
            "redirectURL": request.location,
            "headersSize": -1,
            "bodySize": request.response_bytes,
        },
        **marks,
    }


def _query(url: str) -> list[Json]:
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        return []
    return [{"name": name, "value": value} for name, value in pairs]


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else ""
