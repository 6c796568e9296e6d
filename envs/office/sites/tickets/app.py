"""The help desk in a browser: queue, tickets, comments, customers."""

from __future__ import annotations

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site

site = Site()
SIZE = 25
PRIORITIES = [("low", "Low"), ("normal", "Normal"), ("high", "High"), ("urgent", "Urgent")]
STATUSES = [("open", "Open"), ("pending", "Pending"), ("closed", "Closed"), ("merged", "Merged")]

COMMENT = Form(
    Field("body", "Comment", "area", required=True, most=100_000),
    Field("internal", "Internal: only the team reads it", "check"),
)
FIELDS = Form(
    Field("subject", "Subject", required=True, most=200),
    Field("product", "Product", required=True, most=200),
    Field("priority", "Priority", "choice", required=True, options=PRIORITIES),
    Field(
        "status",
        "Status",
        "choice",
        required=True,
        options=[
            ("open", "Open: waiting for us"),
            ("pending", "Pending: waiting for the customer"),
        ],
    ),
    Field("version", "Version", "hidden"),
)
NEW = Form(
    Field("customer", "Customer number", "integer", required=True, least=1),
    Field("subject", "Subject", required=True, most=200),
    Field("body", "What happened", "area", required=True, most=100_000),
    Field("product", "Product", required=True, most=200),
    Field("priority", "Priority", "choice", required=True, options=PRIORITIES),
)
CLOSE = Form(
    Field(
        "resolution",
        "Resolution",
        "area",
        required=True,
        most=100_000,
        hint="The customer reads this.",
    ),
    Field("version", "Version", "hidden"),
)
REOPEN = Form(Field("reason", "Reason", "area", required=True, most=100_000))
MERGE = Form(
    Field("into", "Ticket that stays", "integer", required=True, least=1, arguments=("ticket",))
)
LINK = Form(
    Field("other", "Other ticket", "integer", required=True, least=1),
    Field(
        "kind",
        "This ticket",
        "choice",
        required=True,
        options=[("relates_to", "relates to"), ("blocks", "blocks"), ("duplicates", "duplicates")],
    ),
)


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "desk.html", "crumb": None, "intro": "", "text": "", **values}
    return request.page("form.html", status, **values)


def agents(request: Request) -> list[dict]:
    return request.rows("SELECT id, name, team, active FROM tickets_agent ORDER BY name")


def version(form: BoundForm) -> dict:
    text = form.values["version"] or ""
    return {"version": int(text)} if text.isdigit() else {}


@site.get("/")
def index(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=4000)

    def chosen(name: str, known: list) -> str | None:
        value = query.get(name)
        return value if value in [value for value, _ in known] else None

    customer = query.number("customer")
    found = request.call(
        "tickets_search",
        text=query.get("q").strip(),
        status=chosen("status", STATUSES),
        priority=chosen("priority", PRIORITIES),
        assignee=query.get("assignee") or None,
        customer=customer or None,
        tag=query.get("tag") or None,
        overdue=query.get("overdue") == "on",
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    return request.page(
        "list.html",
        found=found,
        page=page,
        size=SIZE,
        text=query.get("q"),
        agents=agents(request),
        priorities=PRIORITIES,
        statuses=STATUSES,
    )


def ticket_page(request: Request, ticket: int, status: int = 200, form: BoundForm | None = None):
    shown = request.call("tickets_get", ticket=ticket)
    customer = request.rows("SELECT * FROM tickets_customer WHERE id = ?", shown["customer_id"])
    blocked = request.rows(
        "SELECT ticket_id, kind FROM tickets_link WHERE other_id = ? ORDER BY ticket_id", ticket
    )
    return request.page(
        "ticket.html",
        status,
        ticket=shown,
        customer=customer[0],
        blocked=blocked,
        form=form or COMMENT.blank(),
        agents=agents(request),
        text="",
    )


@site.get("/ticket/{ticket:int}")
def ticket(request: Request, ticket: int) -> Response:
    return ticket_page(request, ticket)


@site.get("/picture/{name}")
def picture(request: Request, name: str) -> Response:
    return request.picture(name)


@site.post("/ticket/{ticket:int}/comment")
def comment(request: Request, ticket: int) -> Response:
    form = COMMENT.bind(request.fields)
    done = form.attempt(lambda: request.call("tickets_comment", ticket=ticket, **form.filled))
    if done is None:
        return ticket_page(request, ticket, 422, form)
    request.flash("Comment added.")
    return request.redirect(f"/ticket/{ticket}")


@site.post("/ticket/{ticket:int}/assign")
def assign(request: Request, ticket: int) -> Response:
    agent = request.fields.get("agent") or None
    done = f"Assigned to {agent}." if agent else "Unassigned."
    request.attempt(done, "tickets_assign", ticket=ticket, agent=agent)
    return request.redirect(f"/ticket/{ticket}")


@site.post("/ticket/{ticket:int}/tag")
def tag(request: Request, ticket: int) -> Response:
    given = {"add": request.fields.get("add").replace(",", " ").split()}
    if "remove" in request.fields:
        given = {"remove": [request.fields.get("remove")]}
    request.attempt("Tags changed.", "tickets_tag", ticket=ticket, **given)
    return request.redirect(f"/ticket/{ticket}")


@site.get("/ticket/{ticket:int}/edit")
def edit(request: Request, ticket: int) -> Response:
    shown = request.call("tickets_get", ticket=ticket)
    form = FIELDS.blank(**{name: shown[name] for name in FIELDS.fields})
    return shaped(request, f"Edit ticket {ticket}", form, f"/ticket/{ticket}", "Save changes")


@site.post("/ticket/{ticket:int}/edit")
def change(request: Request, ticket: int) -> Response:
    form = FIELDS.bind(request.fields)
    names = ("subject", "product", "priority", "status")
    values = {name: form.values[name] for name in names}
    done = form.attempt(
        lambda: request.call("tickets_update", ticket=ticket, **version(form), **values)
    )
    if done is None:
        return shaped(request, f"Edit ticket {ticket}", form, f"/ticket/{ticket}", "Save changes")
    request.flash("Changes saved.")
    return request.redirect(f"/ticket/{ticket}")


def registered(path: str, form: Form, heading: str, submit: str, done: str, tool: str) -> None:
    """Register a page with one form that calls a tool about a ticket."""

    def page(request: Request, ticket: int, bound: BoundForm) -> Response:
        return shaped(request, heading.format(ticket), bound, f"/ticket/{ticket}", submit)

    @site.get(f"/ticket/{{ticket:int}}/{path}")
    def show(request: Request, ticket: int) -> Response:
        seen = request.rows("SELECT version FROM tickets_ticket WHERE id = ?", ticket)
        return page(request, ticket, form.blank(version=seen[0]["version"] if seen else None))

    @site.post(f"/ticket/{{ticket:int}}/{path}")
    def act(request: Request, ticket: int) -> Response:
        bound = form.bind(request.fields)
        seen = version(bound) if "version" in form.fields else {}
        values = {name: value for name, value in bound.filled.items() if name != "version"}
        result = bound.attempt(lambda: request.call(tool, ticket=ticket, **seen, **values))
        if result is None:
            return page(request, ticket, bound)
        request.flash(done)
        return request.redirect(f"/ticket/{bound.values.get('into') or ticket}")


registered("close", CLOSE, "Close ticket {}", "Close ticket", "Ticket closed.", "tickets_close")
registered("reopen", REOPEN, "Reopen ticket {}", "Reopen", "Ticket reopened.", "tickets_reopen")
registered("merge", MERGE, "Merge ticket {} into another", "Merge", "Merged.", "tickets_merge")
registered("link", LINK, "Link ticket {}", "Add link", "Link added.", "tickets_link")


@site.get("/new")
def new(request: Request) -> Response:
    form = NEW.blank(customer=request.query.get("customer"), priority="normal")
    return shaped(request, "New ticket", form, "/", "Create ticket")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields)
    made = form.attempt(lambda: request.call("tickets_create", **form.filled))
    if made is None:
        return shaped(request, "New ticket", form, "/", "Create ticket")
    request.flash("Ticket created.")
    return request.redirect(f"/ticket/{made['id']}")


@site.get("/customers")
def customers(request: Request) -> Response:
    text = request.query.get("name").strip()
    found = request.call("tickets_list_customers", text=text, limit=100)
    return request.page("customers.html", customers=found, name=text, text="")


@site.get("/customer/{customer:int}")
def customer(request: Request, customer: int) -> Response:
    shown = request.call("tickets_get_customer", customer=customer)
    tickets = request.rows(
        "SELECT id, subject, status, priority, created_at FROM tickets_ticket"
        " WHERE customer_id = ? ORDER BY created_at DESC, id DESC LIMIT 50",
        customer,
    )
    return request.page("customer.html", customer=shown, tickets=tickets, text="")


@site.get("/agents")
def team(request: Request) -> Response:
    return request.page("agents.html", agents=request.call("tickets_list_agents"), text="")
