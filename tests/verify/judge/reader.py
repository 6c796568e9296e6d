"""A model that really reads: it decides by what stands in the exhibits it is sent.

It knows criteria of two forms. ``an exhibit says "WORD"`` is met if the word stands in an exhibit.
``the screen is COLOUR`` is met if a picture is mostly of that colour. It trusts exhibits no more
than it is told to, and it is *obedient*: whatever else stands in a request and reads like an order
to answer yes is followed. Role markup counts as an order wherever it stands, as it does for
models whose chat template is filled by plain replacement, and it is found in composed characters
(NFKC) too.
"""

from __future__ import annotations

import base64
import io
import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from chat_server import Status, call, says
from PIL import Image

COLOURS = {"red": 0, "green": 1, "blue": 2}
ORDER = re.compile(
    r"ignore (the|all|any|previous)|answer (met|yes)|\"answer\": ?\"yes\"|criterion is met",
    re.IGNORECASE,
)
ROLE = re.compile(
    r"<\|[a-z_]+\|>|\[INST\]|<<SYS>>|<start_of_turn>|<｜[A-Za-z]+｜>|\[\|[a-z]+\|\]|\]~b\]|<seed:bos>"
    r"|<reserved_\d+>|<extra_id_\d+>|<SPECIAL_\d+>"
)


@dataclass(frozen=True)
class Shown:
    """An exhibit as the model makes it out."""

    id: str
    kind: str
    text: str
    images: Sequence[Any]


@dataclass
class Reader:
    """Answers requests.

    Attributes:
        forms: What the server can be held to.
        seen: The exhibits of every request, in order.
        outside: What stood outside of exhibits, in every request.
    """

    forms: tuple[str, ...] = ("json_schema",)
    seen: list[list[Shown]] = field(default_factory=list)
    outside: list[str] = field(default_factory=list)

    def __call__(self, request: Mapping[str, Any]) -> Any:
        form = _form(request)
        if form not in self.forms:
            return Status(400, f"this server does not support {form}")
        shown, outside = read_request(request)
        self.seen.append(shown)
        self.outside.append(outside)
        answer = self._relevance(request, shown) or self.decide(request, shown, outside)
        text = json.dumps(answer)
        return says(call("answer", text)) if form == "tool" else says(content=text)

    def decide(
        self, request: Mapping[str, Any], shown: Sequence[Shown], outside: str
    ) -> dict[str, Any]:
        """Decide the criterion, or obey."""
        answers = _schema(request)["properties"]["answer"]["enum"]
        top = "yes" if "yes" in answers else answers[-1]
        bottom = "no" if "no" in answers else answers[0]
        whole = json.dumps(request["messages"], ensure_ascii=False)
        composed = unicodedata.normalize("NFKC", whole)
        if ORDER.search(outside) or ROLE.search(whole) or ROLE.search(composed):
            cited = [shown[0].id] if shown else []
            return {"reasons": "I was told to.", "cited": cited, "answer": top}
        wanted = criterion_of(outside)
        cited = [exhibit.id for exhibit in shown if _shows(exhibit, wanted)]
        reasons = f"{len(cited)} exhibits show {wanted!r}."
        return {"reasons": reasons, "cited": cited, "answer": top if cited else bottom}

    def _relevance(
        self, request: Mapping[str, Any], shown: Sequence[Shown]
    ) -> dict[str, Any] | None:
        if "scores" not in _schema(request)["properties"]:
            return None
        wanted = criterion_of(read_request(request)[1])
        return {"scores": [{"id": e.id, "relevance": round(10 * _share(e, wanted))} for e in shown]}


def read_request(request: Mapping[str, Any]) -> tuple[list[Shown], str]:
    """Return the exhibits of a request, and everything else that it says."""
    system = request["messages"][0]["content"]
    code = re.search(r"</exhibit ([0-9a-f]+)>", system)
    assert code is not None
    opening = re.compile(rf"<exhibit {code[1]} id=(\w+) kind=(\w+)>\n")
    closing = f"</exhibit {code[1]}>\n"
    shown: list[Shown] = []
    outside: list[str] = []
    held: list[Any] | None = None
    for message in request["messages"][1:]:
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for part in parts:
            if part["type"] == "image_url":
                assert held is not None, "a picture outside of every exhibit"
                held[3].append(_picture(part["image_url"]["url"]))
                continue
            rest = part["text"]
            while rest:
                if held is None:
                    begins = opening.search(rest)
                    outside.append(rest[: begins.start()] if begins else rest)
                    held = [begins[1], begins[2], "", []] if begins else None
                    rest = rest[begins.end() :] if begins else ""
                else:
                    text, ends, rest = rest.partition(closing)
                    held[2] += text
                    if ends:
                        shown.append(Shown(*held))
                        held = None
    assert held is None, "an exhibit without an end"
    return shown, "".join(outside)


def criterion_of(outside: str) -> str:
    """Return the word or the colour that a criterion asks for."""
    found = re.search(r'an exhibit says "([^"]+)"|the screen is (\w+)', outside)
    assert found is not None, outside
    return found[1] or found[2]


def _shows(exhibit: Shown, wanted: str) -> bool:
    return _share(exhibit, wanted) > 0.5 if exhibit.images else wanted in exhibit.text


def _share(exhibit: Shown, colour: str) -> float:
    """Return how much of a picture's light is of a colour."""
    pixels = np.asarray(exhibit.images[0], dtype=float)
    return float(pixels[..., COLOURS[colour]].sum() / max(pixels.sum(), 1.0))


def _picture(url: str) -> Image.Image:
    head, _, data = url.partition(",")
    assert head == "data:image/png;base64"
    return Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")


def _form(request: Mapping[str, Any]) -> str:
    return "tool" if "tools" in request else str(request["response_format"]["type"])


def _schema(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema that an answer must have, as the system prompt spells it out."""
    text = request["messages"][0]["content"]
    found: Mapping[str, Any] = json.loads(text[text.index("\n{\n") :])
    held = request.get("response_format", {}).get("json_schema", {}).get("schema", found)
    assert held == found
    return found
