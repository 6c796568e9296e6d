"""Sign-in pages that sites with accounts share: `/login` and `/logout` over a tool of a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from agentgym.sites.forms import BoundForm, Field, Form
from agentgym.sites.request import Request
from agentgym.sites.response import Response
from agentgym.sites.site import Site

_LOGIN = Form(
    Field("email", "E-mail address", "email", required=True),
    Field("password", "Password", "password", required=True),
)


class Shown(Protocol):
    """Renders a template of a site with what all its pages have."""

    def __call__(
        self, request: Request, template: str, http_status: int = 200, **values: object
    ) -> Response:
        """Return the page."""
        ...


class FormPages:
    """The pages of a site that hold one form each, rendered by a template `form.html`.

    Args:
        show: Renders a template.
        layout: Template around the form.
    """

    def __init__(self, show: Shown, layout: str) -> None:
        self._show, self._layout = show, layout

    def __call__(
        self,
        request: Request,
        heading: str,
        form: BoundForm,
        cancel: str,
        submit: str,
        **more: object,
    ) -> Response:
        """Return a page with a form; its status is 422 if the form is wrong.

        Args:
            request: The request.
            heading: Heading of the page.
            form: The form, blank or filled.
            cancel: Path of the link that leaves the page.
            submit: Label of the button.
            **more: Further values for the template.
        """
        status = 200 if form.is_valid else 422
        values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
        return self._show(request, "form.html", status, layout=self._layout, **values)


class SignIn:
    """The sign-in of a site: registers its pages, and sends visitors there.

    Args:
        site: The site.
        page: Renders a form.
        tool: Tool of a service that takes ``email`` and ``password`` and returns the account.
        heading: Heading of the page.
        intro: Text above the form.
        home: Path after signing in, unless the visitor came from elsewhere.
        left: Path after signing out.
        refuse: Returns why an account may not sign in here, empty if it may.
        greet: Returns what the next page says to an account; empty for nothing.
        parting: What the page after signing out says; empty for nothing.
    """

    def __init__(
        self,
        site: Site,
        page: FormPages,
        tool: str,
        *,
        heading: str = "Sign in",
        intro: str | None = None,
        home: str = "/",
        left: str = "/",
        refuse: Callable[[dict[str, Any]], str] = lambda account: "",
        greet: Callable[[dict[str, Any]], str] = lambda account: "",
        parting: str = "",
    ) -> None:
        self._page, self._tool, self._heading, self._intro = page, tool, heading, intro
        self._home, self._left, self._refuse = home, left, refuse
        self._greet, self._parting = greet, parting
        site.get("/login")(self._shown)
        site.post("/login")(self._log_in)
        site.post("/logout")(self._log_out)

    def required(self, request: Request, back: str = "") -> Response:
        """Lead a visitor to the sign-in page, and back afterwards."""
        request.flash("Please sign in first.", "note")
        request.session.values["back"] = back or request.path
        return request.redirect("/login")

    def _shown(self, request: Request) -> Response:
        more = {} if self._intro is None else {"intro": self._intro}
        return self._page(request, self._heading, _LOGIN.blank(), "/", "Sign in", **more)

    def _log_in(self, request: Request) -> Response:
        form = _LOGIN.bind(request.fields)
        found: Any = form.attempt(lambda: request.call(self._tool, **form.values))
        if found is not None and (problem := self._refuse(found)):
            form.problem, found = problem, None
        if found is None:
            return self._page(request, self._heading, form, "/", "Sign in")
        back = str(request.session.values.get("back", self._home))
        request.session.log_in(str(found["id"]))
        if said := self._greet(found):
            request.flash(said)
        return request.redirect(back)

    def _log_out(self, request: Request) -> Response:
        request.session.log_out()
        if self._parting:
            request.flash(self._parting)
        return request.redirect(self._left)
