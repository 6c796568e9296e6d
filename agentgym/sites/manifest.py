"""The manifest of a site folder, ``envs/<env>/sites/<name>/site.toml``."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from agentgym.manifest import Manifest

_HOST = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+")


def _host(value: str) -> str:
    if not _HOST.fullmatch(value) or len(value) > 253:
        raise ValueError(f"expected a host name such as 'shop.example', got {value!r}")
    return value


class SiteManifest(Manifest):
    """The content of `site.toml`.

    Attributes:
        title: Title, in a few words.
        host: Name under which the site is reached, without a port.
        folder: Folder of static pages, below the site's own or the package's; None if `app.py`
            answers.
        package: Python package that brings the pages, found without importing it; empty if the
            site's own folder has them.
        port: Port of the sandbox's loopback at which a program of its own answers; None otherwise.
        fallback: Static page for paths without a file, as a single-page application needs it.
        own_scripts: Whether static pages run only the scripts that stand in their files or come
            from this site, and none in a text that a visitor has typed.
        handlers: Handlers of events that scripts of such pages write into elements, beside those
            that stand in their files.
        evaluating: Globs of the addresses of such pages whose scripts evaluate texts as programs.
        tools: Globs of service tools that scripts of its pages may call at ``/api/TOOL``.
        max_body_kb: Largest body of a request.
    """

    schema_version: Literal["agentgym.site/1"]
    title: Annotated[str, Field(min_length=1)]
    host: Annotated[str, AfterValidator(_host)]
    folder: str | None = None
    port: int | None = Field(default=None, ge=1, le=65_535)
    package: str = ""
    fallback: str | None = None
    own_scripts: bool = False
    handlers: tuple[str, ...] = ()
    evaluating: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    max_body_kb: int = Field(default=2048, ge=1, le=65_536)

    @model_validator(mode="after")
    def _is_complete(self) -> SiteManifest:
        if self.fallback is not None and self.folder is None:
            raise ValueError("fallback needs a folder of static pages")
        if self.own_scripts and self.folder is None:
            raise ValueError("own_scripts needs a folder of static pages")
        if (self.handlers or self.evaluating) and not self.own_scripts:
            raise ValueError("handlers and evaluating need own_scripts = true")
        if self.port is not None and (self.folder is not None or self.tools):
            raise ValueError("port means a program of its own, which has neither folder nor tools")
        if self.package and self.folder is None:
            raise ValueError("package needs the folder of static pages in it")
        return self
