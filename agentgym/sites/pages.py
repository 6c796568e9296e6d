"""Pages of a site: Jinja templates, with macros for forms and lists that all sites share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from agentgym.sites.body import Fields
from agentgym.sites.pictures import picture_source
from agentgym.sites.session import Session
from agentgym.sites.variation import Variation

SHARED: Final = Path(__file__).parent


class Shown(Protocol):
    """A request as pages see it.

    Attributes:
        path: Decoded path.
        query: Fields of the query.
        session: Values kept about the visitor.
        vary: Choices by the episode's seed.
    """

    path: str
    query: Fields
    session: Session
    vary: Variation

    def take_flashes(self) -> list[tuple[str, str]]:
        """Return the messages for this page, which no later page shows."""
        ...


class Pages:
    """The templates of a site.

    Args:
        folder: Its folder; templates below it come before those that all sites share.
        title: Title of the site.
        host: Its host.
    """

    def __init__(self, folder: Path, title: str, host: str) -> None:
        places = [folder / "templates", folder.parent / "templates", SHARED / "templates"]
        self._templates = Environment(
            loader=ChoiceLoader([FileSystemLoader(place) for place in places]),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._templates.filters |= {
            "day": day,
            "clock": clock,
            "paragraphs": paragraphs,
            "money": money,
            "initials": initials,
            "bytes": sized,
        }
        self._templates.globals |= {"site_title": title, "site_host": host, "page_url": page_url}
        self._templates.globals["picture_source"] = picture_source
        self._places = places[:2]

    def check(self) -> None:
        """Compile the site's own templates.

        Raises:
            TemplateError: A template is broken.
        """
        for place in self._places:
            for path in sorted(place.glob("*.html")):
                self._templates.get_template(path.name)

    def render(self, name: str, request: Shown, values: Mapping[str, Any]) -> str:
        """Return a page as text."""
        template = self._templates.get_template(name)
        flashes = request.take_flashes()
        return template.render(
            request=request,
            vary=request.vary,
            session=request.session,
            flashes=flashes,
            csrf=request.session.csrf,
            **values,
        )

    def problem(self, status: int, reason: str, message: str, vary: Variation) -> str:
        """Return a page that reports a problem; it needs nothing of the request."""
        template = self._templates.get_template("problem.html")
        return template.render(status=status, reason=reason, message=message, vary=vary)


def page_url(request: Shown, **changed: Any) -> str:
    """Return the address of this page with other values in its query; None removes a value."""
    kept = [(name, value) for name, value in request.query if name not in changed and value]
    added = [(name, str(value)) for name, value in changed.items() if value is not None]
    query = urlencode(kept + added)
    return f"{request.path}?{query}" if query else request.path


def _at(moment: str, zone: str) -> datetime:
    return datetime.fromisoformat(moment).astimezone(ZoneInfo(zone))


def day(moment: str, form: str = "%a %-d %b %Y", zone: str = "UTC") -> str:
    """Return the day of a time such as ``2026-03-02T09:00:00Z``.

    Example:
        >>> day("2026-03-02T23:30:00Z", zone="Europe/Berlin")
        'Tue 3 Mar 2026'
    """
    return _at(moment, zone).strftime(form)


def clock(moment: str, zone: str = "UTC") -> str:
    """Return the time of day.

    Example:
        >>> clock("2026-03-02T09:00:00Z", "Europe/Berlin")
        '10:00'
    """
    return _at(moment, zone).strftime("%H:%M")


def paragraphs(text: str) -> Markup:
    r"""Return a text with its line breaks, as HTML.

    Example:
        >>> str(paragraphs("One\ntwo\n\n<three>"))
        '<p>One<br>two</p><p>&lt;three&gt;</p>'
    """
    blocks = [block for block in text.split("\n\n") if block.strip()]
    shown = [Markup("<br>").join(block.strip("\n").split("\n")) for block in blocks]
    return Markup("").join(Markup("<p>{}</p>").format(block) for block in shown)


def money(cents: int, currency: str = "€") -> str:
    """Return an amount of cents.

    Example:
        >>> money(123450)
        '€1,234.50'
    """
    sign = "-" if cents < 0 else ""
    return f"{sign}{currency}{abs(cents) // 100:,}.{abs(cents) % 100:02}"


def initials(name: str) -> str:
    """Return the initials of a person.

    Example:
        >>> initials("Zoe van Dam")
        'ZD'
    """
    words = [word for word in name.replace("@", " ").split() if word[:1].isalnum()]
    return (words[0][0] + (words[-1][0] if len(words) > 1 else "")).upper() if words else "?"


def sized(count: int) -> str:
    """Return a number of bytes for people.

    Example:
        >>> sized(20480)
        '20 kB'
    """
    return f"{count} B" if count < 1000 else f"{count / 1024:,.0f} kB"
