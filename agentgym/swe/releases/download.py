"""Downloads source releases from the package index that pip uses, pinned by their hashes.

The index answers in the form of PEP 691. Nothing of an archive is executed. Archives are kept in
the cache, so the index is asked once.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import urllib.request
from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

from agentgym import catalogue
from agentgym.errors import ConfigError, TaskError
from agentgym.swe.releases.pair import Source

MOST_BYTES: Final = 32 << 20
_TIMEOUT_S: Final = 60.0
_JSON: Final = "application/vnd.pypi.simple.v1+json"

Fetch = Callable[[str, str, int], bytes]
"""Called as ``fetch(url, accepted type, most bytes)``; raises OSError."""


def source_archive(package: str, source: Source, *, fetch: Fetch | None = None) -> bytes:
    """Return the archive of a source release, from the cache or from the index.

    Args:
        package: Name of the package.
        source: The release.
        fetch: Gets a URL; by default over HTTPS.

    Raises:
        TaskError: The index cannot be reached or does not have it, or its hash is another one.
        ConfigError: It is not known where the index is.
    """
    kept = catalogue.cache_dir() / "releases" / source.sha256
    if kept.is_file() and _hash(data := kept.read_bytes()) == source.sha256:
        return data
    data = _download(package, source, fetch or _get)
    if (seen := _hash(data)) != source.sha256:
        raise TaskError(
            f"{source.file}: its SHA-256 is {seen}, and the definition pins {source.sha256}; "
            "what the index offers is not what the task was made of"
        )
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, kept)
    return data


def _download(package: str, source: Source, fetch: Fetch) -> bytes:
    page = f"{index_url().rstrip('/')}/{package.lower()}/"
    try:
        listed: Any = json.loads(fetch(page, _JSON, MOST_BYTES))
        urls = [entry["url"] for entry in listed["files"] if entry["filename"] == source.file]
    except OSError as error:
        raise TaskError(
            f"{package} {source.version}: the package index cannot be reached ({error}); tasks of "
            "releases are made with a network once, and stay in the cache"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise TaskError(f"{package}: the package index gave no list of files: {error!r}") from error
    if not urls:
        raise TaskError(f"{package}: the package index does not have {source.file}")
    try:
        return fetch(urljoin(page, str(urls[0])), "*/*", MOST_BYTES)
    except OSError as error:
        raise TaskError(f"{source.file}: it cannot be downloaded ({error})") from error


def index_url() -> str:
    """Return the index: ``PIP_INDEX_URL``, else pip's own default.

    Raises:
        ConfigError: Neither is known.
    """
    if url := os.environ.get("PIP_INDEX_URL"):
        return url
    try:
        from pip._internal.models.index import PyPI
    except ImportError:
        raise ConfigError("set PIP_INDEX_URL to the package index: pip is not installed") from None
    return str(PyPI.simple_url)


def _get(url: str, accept: str, most: int) -> bytes:
    if urlsplit(url).scheme not in ("https", "http"):
        raise OSError(f"{url}: expected an HTTP address")
    request = urllib.request.Request(url, headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        data: bytes = answer.read(most + 1)
    if len(data) > most:
        raise OSError(f"{url}: more than {most >> 20} MiB")
    return data


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
