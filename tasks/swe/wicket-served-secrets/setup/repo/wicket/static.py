"""Routers that serve files."""

import mimetypes
from pathlib import Path

from wicket.errors import HttpError
from wicket.folder import Folder
from wicket.request import Request
from wicket.response import Response
from wicket.routing import Router


def static(root: str | Path) -> Router:
    """Return a router that serves the files below a folder."""
    folder, router = Folder(root), Router()

    @router.get("/{name:path}")
    def show(request: Request, name: str) -> Response:
        body = folder.read(name)
        if body is None:
            raise HttpError(404, f"{request.path}: not found")
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        return Response(200, body, {"Content-Type": kind})

    return router
