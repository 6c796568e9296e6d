"""Check pack `http`: the answers of an HTTP service that the agent made.

Channel: state (a clean room with the artifacts). The service is started from the final files in a
room of its own, so only the files count, not a process that still runs. `service` is a table of
`argv` (the command), `port` (where it listens) and optionally `cwd` and `ready_s` (seconds until it
has to listen). The requests are made inside the room, which has no other network; the image needs
/usr/bin/python3.
"""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, GuestFileError, VerifierError
from agentgym.verify.documents import parse
from agentgym.verify.values import Comparison, brief, result

_CLIENT = Path(__file__).with_name("client.py")
_REQUEST = ("method", "path", "headers", "body", "json")
_ANSWER = ("status", "has_headers", "text", "contains", "equals", "tolerance", "any_order")
_ANSWER_S = 5.0


def answers(
    evidence: Evidence,
    service: Mapping[str, Any],
    request: Mapping[str, Any],
    answer: Mapping[str, Any],
    artifacts: Sequence[str] = (),
) -> CheckResult:
    """A service answers one request as expected.

    Channel: state (a clean room with the artifacts).

    Example:
        use = "http.answers"
        [checkpoint.with]
        artifacts = ["/srv/app"]
        service = { argv = ["/usr/bin/python3", "/srv/app/serve.py"], port = 8080 }
        request = { method = "POST", path = "/sum", json = { of = [1, 2] } }
        answer = { status = 200, equals = { sum = 3 } }

    Args:
        evidence: Evidence of the episode.
        service: How to start it: `argv`, `port`, and optionally `cwd` ("/root") and `ready_s` (10).
        request: `path`, and optionally `method`, `headers`, and `body` (text) or `json`.
        answer: Any of `status` (200), `has_headers` (name and whole value), `text` (the whole
            body), `contains`, and `equals` (the body's JSON; with `tolerance` and `any_order`).
        artifacts: Files and folders of the agent that are copied into the room.
    """
    return conversation(evidence, service, [{**request, **answer}], artifacts)


def conversation(
    evidence: Evidence,
    service: Mapping[str, Any],
    exchanges: Sequence[Mapping[str, Any]],
    artifacts: Sequence[str] = (),
) -> CheckResult:
    """A service answers several requests as expected, one after another.

    Channel: state (a clean room with the artifacts).

    Example:
        use = "http.conversation"
        [checkpoint.with]
        artifacts = ["/srv/app"]
        service = { argv = ["/srv/app/serve"], port = 8080, cwd = "/srv/app", ready_s = 5 }
        exchanges = [
            { method = "PUT", path = "/notes/1", body = "buy milk", status = 201 },
            { path = "/notes/1", text = "buy milk" },
        ]

    Args:
        evidence: Evidence of the episode.
        service: How to start it, as in `answers`.
        exchanges: Tables of a request and its answer, with the keys of `request` and `answer`
            above.
        artifacts: Files and folders of the agent that are copied into the room.
    """
    order = _order(service, exchanges)
    room = evidence.room(artifacts)
    room.write("/tmp/agentgym-client.py", _CLIENT.read_bytes())
    told = f"/tmp/{secrets.token_hex(8)}.json"
    argv = ["/usr/bin/python3", "-IS", "/tmp/agentgym-client.py", told]
    limit = order["ready_s"] + _ANSWER_S * len(exchanges) + 5
    done = room.run(argv, cwd="/", stdin=json.dumps(order).encode(), timeout_s=limit)
    if done.exit_code == 127 and evidence.room().run([*argv[:2], "-c", ""]).exit_code:
        raise VerifierError("the task's image has no /usr/bin/python3")
    if done.timed_out:
        return result(False, f"the service did not answer within {limit:g} s")
    seen, log = _told(parse(room.read(told), "json", "what was told of the service"))
    if len(seen) != len(exchanges):
        said = f"nobody listens on port {order['port']} within {order['ready_s']:g} s"
        return result(False, f"{said}; the service said {brief(log)}")
    for exchange, answered in zip(exchanges, seen, strict=True):
        fault = answered if isinstance(answered, str) else _fault(exchange, answered)
        if fault:
            asked = f"{exchange.get('method', 'GET')} {exchange['path']}"
            return result(False, f"{asked}: {fault}")
    return result(True, f"{len(exchanges)} requests answered as expected")


def _order(service: Mapping[str, Any], exchanges: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the client's order. Raises VerifierError for invalid arguments."""
    argv, port = service.get("argv"), service.get("port")
    if not isinstance(argv, Sequence) or isinstance(argv, str) or not argv:
        raise VerifierError(f"service.argv: expected a list of words, got {argv!r}")
    if not isinstance(port, int) or not 0 < port < 65536:
        raise VerifierError(f"service.port: expected 1 to 65535, got {port!r}")
    if odd := sorted(set(service) - {"argv", "port", "cwd", "ready_s"}):
        raise VerifierError(f"service.{odd[0]}: expected argv, port, cwd or ready_s")
    if not exchanges:
        raise VerifierError("exchanges: expected at least one")
    requests = []
    for exchange in exchanges:
        if odd := sorted(set(exchange) - {*_REQUEST, *_ANSWER}):
            known = ", ".join((*_REQUEST, *_ANSWER))
            raise VerifierError(f"{odd[0]}: is no part of a request or an answer; known: {known}")
        path = exchange.get("path", "")
        if not isinstance(path, str) or not path.startswith("/"):
            raise VerifierError(f"path: expected one that begins with /, got {path!r}")
        Comparison(exchange.get("tolerance", 0.0), exchange.get("any_order", False))
        body, headers = exchange.get("body", ""), dict(exchange.get("headers", {}))
        if "json" in exchange:
            body = json.dumps(exchange["json"])
            headers = {"Content-Type": "application/json", **headers}
        method = exchange.get("method", "GET")
        requests.append({"method": method, "path": path, "headers": headers, "body": body})
    return {
        "argv": [word if isinstance(word, str) else json.dumps(word) for word in argv],
        "port": port,
        "cwd": service.get("cwd", "/root"),
        "ready_s": service.get("ready_s", 10.0),
        "answer_s": _ANSWER_S,
        "requests": requests,
    }


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: list[tuple[str, str]]
    body: bytes


def _told(found: Any) -> tuple[list[_Answer | str], str]:
    """Return the answers or a fault; the service may have written anything in their place."""
    try:
        answers: list[_Answer | str] = []
        for one in found["answers"]:
            if "fault" in one:
                answers.append(str(one["fault"])[:200])
                continue
            headers = [(str(name).lower(), str(value)) for name, value in one["headers"]]
            answers.append(_Answer(int(one["status"]), headers, base64.b64decode(one["body"])))
        return answers, str(found.get("log", ""))
    except (TypeError, ValueError, LookupError, AttributeError) as error:
        raise GuestFileError(f"what was told of the service cannot be read: {error}") from None


def _fault(wanted: Mapping[str, Any], seen: _Answer) -> str:
    """Return what is wrong with an answer; empty if it is right."""
    status, text = wanted.get("status", 200), seen.body.decode("utf-8", "backslashreplace")
    if seen.status != status:
        return f"status {seen.status}, expected {status}: {brief(text)}"
    for name, value in wanted.get("has_headers", {}).items():
        values = [one for key, one in seen.headers if key == name.lower()]
        if values != [value]:
            return f"header {name}: {values}, expected {value!r}"
    if "text" in wanted and text != wanted["text"]:
        return f"body {brief(text)}, expected {brief(wanted['text'])}"
    if "contains" in wanted and wanted["contains"] not in text:
        return f"body {brief(text)} does not contain {brief(wanted['contains'])}"
    if "equals" in wanted:
        compare = Comparison(wanted.get("tolerance", 0.0), wanted.get("any_order", False))
        try:
            return compare.difference(parse(seen.body, "json", "the body"), wanted["equals"])
        except GuestFileError as error:
            return str(error)
    return ""
