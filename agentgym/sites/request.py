"""Requests as a site's views see them: fields, session, the services of the episode, answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from agentgym.errors import ServiceError
from agentgym.protocols import Services
from agentgym.records import Actor, Json
from agentgym.services.state import Rows, Value
from agentgym.sites.body import BadRequestError, Fields, Upload
from agentgym.sites.pages import Pages
from agentgym.sites.pictures import picture_file, picture_type
from agentgym.sites.response import HTML, Response, redirect
from agentgym.sites.session import Session
from agentgym.sites.variation import Variation

START = "2026-03-02T09:00:00Z"


class Reader(Protocol):
    """Reads the tables of live services."""

    def reading(self) -> AbstractContextManager[Rows]:
        """Return the rows for some statements; nothing that they change is kept."""
        ...

    def note_failure(self, actor: Actor, what: str, raised: str) -> None:
        """Write a failure that is no call of a tool into the audit."""
        ...


@dataclass(frozen=True, slots=True)
class Live:
    """The part of one episode that a site needs.

    Attributes:
        services: The services, with injected faults; None if the environment has no services.
        reader: Reads their tables; None as well then.
        variation: Choices by the episode's seed.
        key: Secret for signatures.
    """

    services: Services | None
    reader: Reader | None
    variation: Variation
    key: bytes


@dataclass(slots=True)
class Request:
    """A request.

    Attributes:
        method: ``GET`` or ``POST``; a HEAD request looks like a GET request.
        path: Decoded path.
        host: Host that was asked for.
        query: Fields of the query.
        fields: Fields of the form.
        files: Files of the form, by field.
        json: Body of a request of a script, if it is JSON.
        session: Values kept about the visitor.
        vary: Choices by the episode's seed.
    """

    method: str
    path: str
    host: str
    query: Fields
    fields: Fields
    files: Mapping[str, Sequence[Upload]]
    json: Any
    session: Session
    vary: Variation
    _live: Live = field(repr=False)
    _pages: Pages = field(repr=False)

    @property
    def now(self) -> str:
        """Logical time, ISO 8601 in UTC."""
        return START if self._live.services is None else self._live.services.now

    def call(self, tool: str, **arguments: Json) -> Any:
        """Call a tool as the agent's own call would, and return the result.

        Raises:
            ServiceError: The service refuses the call.
            BadRequestError: The environment has no services.
        """
        reply = self._services.call(tool, arguments)
        if reply.error is not None:
            raise reply.error
        return reply.result

    def rows(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """Return rows of the services' tables, where no tool fits.

        Raises:
            ServiceError: The statement is no query.
        """
        if self._live.reader is None:
            raise BadRequestError(404, "there are no services")
        with self._live.reader.reading() as rows:
            return rows.all(sql, *values)

    def picture(self, name: str) -> Response:
        """Return a picture that a tool has named, as ``image:0123456789ab``.

        Raises:
            BadRequestError: No tool has named such a picture.
        """
        found = self._services.picture(name)
        if found is None:
            raise BadRequestError(404, "no such picture")
        return picture_file(found.data, found.mime)

    def keep_picture(self, file: Upload) -> str:
        """Keep an uploaded picture, and return the name that tools take.

        Raises:
            ServiceError: It is no picture that pages can show, or too large.
        """
        return self._services.keep_picture(file.data, picture_type(file))

    def page(self, template: str, /, status: int = 200, **values: Any) -> Response:
        """Return a page.

        Args:
            template: Name of a template of the site.
            status: HTTP status.
            values: Variables of the template.
        """
        text = self._pages.render(template, self, values)
        return Response(text.encode(), status, HTML)

    def redirect(self, url: str) -> Response:
        """Return an answer that sends the browser to another page."""
        return redirect(url)

    def flash(self, message: str, kind: str = "done") -> None:
        """Show a message on the next page.

        Args:
            message: What has happened.
            kind: ``done``, ``note`` or ``error``.
        """
        shown = self.session.values.get("flashes", [])
        self.session.values["flashes"] = [*shown, [kind, message[:300]]][-5:]

    def attempt(self, done: str, tool: str, **arguments: Json) -> Any:
        """Call a tool and show on the next page that it is done, or why it was refused.

        Args:
            done: What is shown if the tool was not refused.
            tool: Name of the tool.
            arguments: Its arguments.

        Returns:
            The result; None after a refusal.
        """
        try:
            result = self.call(tool, **arguments)
        except ServiceError as error:
            self.flash(error.message, "error")
            return None
        self.flash(done)
        return result

    def back(self, default: str) -> Response:
        """Return an answer that leads to the page that a form names in its field ``back``.

        Args:
            default: Path of the page if the form names no page of this site.
        """
        path = self.fields.get("back")
        own = path.startswith("/") and not path.startswith(("//", "/\\"))
        return redirect(path if own else default)

    def take_flashes(self) -> list[tuple[str, str]]:
        """Return the messages for this page, which no later page shows."""
        return [(kind, text) for kind, text in self.session.values.pop("flashes", [])]

    @property
    def _services(self) -> Services:
        if self._live.services is None:
            raise BadRequestError(404, "there are no services")
        return self._live.services
