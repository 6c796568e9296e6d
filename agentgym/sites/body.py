"""Queries and bodies of requests as fields: strict, bounded, and without temporary files.

The forms are those that browsers send: ``application/x-www-form-urlencoded`` and
``multipart/form-data`` (RFC 7578).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote_to_bytes

MAX_FIELDS: Final = 2_000
_PARAMETER: Final = re.compile(r';\s*([a-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]*))', re.I)


class BadRequestError(Exception):
    """A request is malformed or too large.

    Args:
        status: HTTP status of the answer, 400 to 499.
        message: What was seen and what was expected.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form.

    Attributes:
        name: Its name, without folders.
        type: Media type that the browser named.
        data: Its content.
    """

    name: str
    type: str
    data: bytes

    def text(self) -> str:
        """Return the content as text.

        Raises:
            BadRequestError: It is not UTF-8.
        """
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise BadRequestError(422, f"{self.name}: expected a text in UTF-8") from None


class Fields:
    """The fields of a query or a form; a name may occur several times."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self.pairs = tuple(pairs)

    def get(self, name: str, default: str = "") -> str:
        """Return the last value of a name."""
        return next((value for known, value in reversed(self.pairs) if known == name), default)

    def all(self, name: str) -> list[str]:
        """Return all values of a name."""
        return [value for known, value in self.pairs if known == name]

    def number(self, name: str, default: int = 0, *, least: int = 0, most: int = 10**9) -> int:
        """Return a value as a number.

        Raises:
            BadRequestError: The value is no whole number within the bounds.
        """
        text = self.get(name).strip()
        if not text:
            return default
        if not re.fullmatch(r"-?[0-9]{1,12}", text) or not least <= int(text) <= most:
            raise BadRequestError(
                400, f"{name}: expected a whole number from {least} to {most}, got {text[:40]!r}"
            )
        return int(text)

    def numbers(self, name: str) -> list[int]:
        """Return all values of a name as numbers.

        Raises:
            BadRequestError: A value is no whole number.
        """
        values = self.all(name)
        for text in values:
            if not re.fullmatch(r"[0-9]{1,12}", text):
                raise BadRequestError(400, f"{name}: expected whole numbers, got {text[:40]!r}")
        return [int(text) for text in values]

    def __contains__(self, name: str) -> bool:
        return any(known == name for known, _ in self.pairs)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self.pairs)


def path_of(raw: bytes) -> str:
    """Return the path of a request, decoded.

    Raises:
        BadRequestError: It is not UTF-8, or holds characters that no path has.
    """
    try:
        path = unquote_to_bytes(raw.split(b"?", 1)[0]).decode()
    except UnicodeDecodeError:
        raise BadRequestError(400, "the path is not UTF-8") from None
    if any(ord(character) < 32 or character in "\\\x7f" for character in path):
        raise BadRequestError(400, "the path holds control characters or backslashes")
    return path


def urlencoded(data: bytes) -> Fields:
    """Return the fields of a query or a simple form.

    Raises:
        BadRequestError: It is not UTF-8, or has too many fields.
    """
    try:
        text = data.decode("ascii")
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise BadRequestError(400, "the form is not UTF-8") from None
    except ValueError:
        raise BadRequestError(413, f"more than {MAX_FIELDS:,} fields") from None
    return _checked(pairs)


def multipart(content_type: str, data: bytes) -> tuple[Fields, dict[str, list[Upload]]]:
    """Return the fields and files of a form with files.

    Raises:
        BadRequestError: It is malformed, not UTF-8, or has too many parts.
    """
    boundary = _parameters(content_type).get("boundary", "")
    if not 1 <= len(boundary) <= 70:
        raise BadRequestError(400, "multipart/form-data without a boundary")
    mark = b"\r\n--" + boundary.encode("latin-1", "replace")
    if data.count(mark) > MAX_FIELDS:
        raise BadRequestError(413, f"more than {MAX_FIELDS:,} fields")
    parts = (b"\r\n" + data).split(mark)
    if len(parts) < 2 or not parts[-1].startswith(b"--"):
        raise BadRequestError(400, "the end of the form is missing")
    pairs: list[tuple[str, str]] = []
    files: dict[str, list[Upload]] = {}
    for part in parts[1:-1]:
        name, upload, text = _part(part)
        if upload is not None:
            # A file field in which nothing was chosen arrives as an empty file without a name.
            if not upload.name and not upload.data:
                continue
            files.setdefault(name, []).append(upload)
        else:
            pairs.append((name, text))
    return _checked(pairs), files


def _part(part: bytes) -> tuple[str, Upload | None, str]:
    head, gap, content = part.partition(b"\r\n\r\n")
    if not gap or not head.startswith(b"\r\n"):
        raise BadRequestError(400, "a part of the form has no head")
    try:
        lines = head.decode().split("\r\n")[1:]
        headers = {
            key.strip().lower(): value for key, _, value in (line.partition(":") for line in lines)
        }
        disposition = _parameters(headers.get("content-disposition", ""))
        if "name" not in disposition:
            raise BadRequestError(400, "a part of the form has no name")
        if "filename" not in disposition:
            return disposition["name"], None, content.decode()
    except UnicodeDecodeError:
        raise BadRequestError(400, "the form is not UTF-8") from None
    name = re.split(r"[/\\]", disposition["filename"])[-1][:255]
    kind = headers.get("content-type", "application/octet-stream").strip()[:100]
    return disposition["name"], Upload(name, kind, content), ""


def _parameters(header: str) -> dict[str, str]:
    """Return the parameters of a header such as ``form-data; name="a"``, names in lower case."""
    found: dict[str, str] = {}
    for match in _PARAMETER.finditer(header[:4096]):
        quoted, plain = match[2], match[3]
        value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        # Browsers write a quotation mark in a name as %22.
        found.setdefault(match[1].lower(), value.replace("%22", '"'))
    return found


def _checked(pairs: Iterable[tuple[str, str]]) -> Fields:
    fields = Fields(pairs)
    if any("\0" in name or "\0" in value for name, value in fields):
        raise BadRequestError(400, "the form holds NUL characters")
    return fields
