"""Environment that an MCP server inherits from this process: proxies, certificates, kept packages.

Every episode gives a server a new, empty home. Launchers that download a server first (`npx`,
`uvx`) would download it again each time, so their packages are kept in the cache folder. Nothing
else is kept there, and the server gets no other variable.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Final

from agentgym import catalogue

_CERTIFICATES: Final = (
    *("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"),
    *("NODE_EXTRA_CA_CERTS", "PIP_CERT", "DENO_CERT"),
)
_PROXIES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_KEPT: Final = {
    "npm_config_cache": "npm",
    "UV_CACHE_DIR": "uv",
    "UV_PYTHON_INSTALL_DIR": "uv-python",
    "PIP_CACHE_DIR": "pip",
    "DENO_DIR": "deno",
    "BUN_INSTALL_CACHE_DIR": "bun",
}
"""Variables that name a program's download folder, and the folder's name in the cache."""


def inherited_variables() -> dict[str, str]:
    """Return the variables that a server's process gets besides its own.

    Raises:
        ConfigError: The cache folder is relative to a working directory that no longer exists.
    """
    names = (*_CERTIFICATES, *(name for each in _PROXIES for name in (each, each.lower())))
    found = {name: os.environ[name] for name in names if os.environ.get(name)}
    return _kept_packages() | found


def _kept_packages() -> dict[str, str]:
    """Return the variables that locate kept packages; empty if the cache cannot be written."""
    root = catalogue.cache_dir() / "mcp-packages"
    with suppress(OSError):
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(root, os.W_OK):
        return {}
    return {variable: str(root / name) for variable, name in _KEPT.items()}
