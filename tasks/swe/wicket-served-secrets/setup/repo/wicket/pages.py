"""Pages: HTML files with places for values."""

import html
import re
from pathlib import Path
from typing import Any

from wicket.errors import HttpError
from wicket.folder import Folder
from wicket.response import Response

_PLACE = re.compile(r"\[\[\s*(\w+)\s*\]\]")
_PART = re.compile(r"\[\[\s*part\s+([^\]]+?)\s*\]\]")


class Pages:
    """The pages in a folder."""

    def __init__(self, root: str | Path) -> None:
        self._folder = Folder(root)

    def show(self, name: str, /, **values: Any) -> Response:
        """Return a page; `[[ name ]]` stands for a value, `[[ part footer ]]` for another page."""
        body = self._text(name, values, ())
        return Response(200, body.encode(), {"Content-Type": "text/html; charset=utf-8"})

    def _text(self, name: str, values: dict[str, Any], above: tuple[str, ...]) -> str:
        if name in above:
            raise ValueError(f"{name}: is a part of itself")
        data = self._folder.read(f"{name}.html")
        if data is None:
            raise HttpError(404, f"{name}: no such page")
        whole = _PART.sub(
            lambda found: self._text(found[1], values, (*above, name)), data.decode()
        )
        return _PLACE.sub(lambda found: html.escape(str(values.get(found[1], ""))), whole)
