"""The site of the back office: the member of the staff who is signed in, and the sign-in."""

from __future__ import annotations

from agentgym.sites import FormPages, Request, Response, SignIn, Site

site = Site()


def account(request: Request) -> int:
    """Return the account that is signed in; 0 without one."""
    return int(request.session.user or 0)


def show(request: Request, template: str, http_status: int = 200, **values: object) -> Response:
    """Return a page of the back office."""
    me = request.rows("SELECT name, role FROM shop_account WHERE id = ?", account(request))
    values = {"text": "", "crumb": None, "intro": "", **values}
    return request.page(template, http_status, me=me[0] if me else None, **values)


def customers_sign_in_elsewhere(account: dict) -> str:
    """Return why an account may not sign in here; empty if it may."""
    if account["role"] != "customer":
        return ""
    return "This account is a customer's. Customers sign in at the shop."


shaped = FormPages(show, "desk.html")
SignIn(
    site,
    shaped,
    "shop_log_in",
    heading="Staff sign-in",
    left="/login",
    refuse=customers_sign_in_elsewhere,
)
