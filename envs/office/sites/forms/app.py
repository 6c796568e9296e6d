"""The office's forms in a browser: find one, fill it in, send it."""

from __future__ import annotations

import re

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site

site = Site()
PLACES = [
    ("mail", "Mail"),
    ("note", "Note on a ticket"),
    ("reply", "Reply on a ticket"),
    ("chat", "Post in the chat"),
]
WHOLE = ("number", "ticket", "event", "article", "file")
KINDS = {
    "amount": "decimal",
    "decimal": "decimal",
    "date": "date",
    "time": "time",
    **dict.fromkeys(WHOLE, "integer"),
}
TOOLS = {
    "mail": "forms_send_mail",
    "note": "forms_comment_ticket",
    "reply": "forms_comment_ticket",
    "chat": "forms_post_chat",
}
READERS = {
    "mail": (
        Field("to", "To", "words", required=True, hint="Addresses, with commas."),
        Field("cc", "Copy to", "words", hint="Addresses, with commas."),
        Field("answers", "Number of the mail that it answers", "integer", least=1),
    ),
    "note": (Field("ticket", "Ticket", "integer", required=True, least=1),),
    "reply": (Field("ticket", "Ticket", "integer", required=True, least=1),),
    "chat": (Field("channel", "Channel", "choice", required=True),),
}
LINES = "One line each, with semicolons between the values: "


def on_paper(request: Request, shown: dict) -> Form:
    """Return the fields of a form's page: who gets it, then what is entered."""
    own = [
        Field(
            f"f-{field['name']}",
            field["label"],
            "choice" if field["choices"] else KINDS.get(field["kind"], "text"),
            required=field["required"],
            options=[(value, value) for value in field["choices"]],
            hint=""
            if field["choices"]
            else f"{field['expects'][0].upper()}{field['expects'][1:]}.",
        )
        for field in shown["fields"]
    ]
    if shown["columns"]:
        names = "; ".join(
            f"{column['label']} ({', '.join(column['choices']) or column['expects']})"
            for column in shown["columns"]
        )
        own.append(Field("lines", "Lines", "area", required=True, most=20_000, hint=LINES + names))
    form = Form(*READERS[shown["place"]], *own)
    return form.choosing({"channel": channels(request)} if shown["place"] == "chat" else {})


def channels(request: Request) -> list[tuple[str, str]]:
    rows = request.rows(
        "SELECT c.id, c.name FROM chat_channel c JOIN chat_member m ON m.channel_id = c.id"
        " WHERE m.person_id = 1 AND NOT c.archived AND c.kind <> 'direct' ORDER BY c.name"
    )
    return [(str(row["id"]), row["name"]) for row in rows]


def page(request: Request, shown: dict, form: BoundForm) -> Response:
    status = 200 if form.is_valid else 422
    submit = "Send" if shown["place"] == "mail" else "Post"
    return request.page("paper.html", status, shown=shown, form=form, submit=submit, text="")


@site.get("/")
def index(request: Request) -> Response:
    text, place = request.query.get("q").strip(), request.query.get("place")
    chosen = place if place in dict(PLACES) else None
    found = request.call("forms_search", text=text, place=chosen)
    return request.page(
        "list.html", forms=found, text=text, places=PLACES, titles=dict(PLACES), chosen=chosen
    )


@site.get("/form/{form}")
def show(request: Request, form: str) -> Response:
    shown = request.call("forms_get", form=form)
    paper = on_paper(request, shown)
    # A link may bring what is known already, such as the ticket.
    given = {name: request.query.get(name) for name in paper.fields if name in request.query}
    return page(request, shown, paper.blank(**given))


@site.post("/form/{form}")
def send(request: Request, form: str) -> Response:
    shown = request.call("forms_get", form=form)
    bound = on_paper(request, shown).bind(request.fields)
    values = bound.filled
    given = {name: values[name] for name in ("to", "answers", "ticket") if name in values}
    if values.get("cc"):
        given["cc"] = values["cc"]
    if "channel" in values:
        given["channel"] = int(values["channel"])
    fields = [
        {"field": name.removeprefix("f-"), "value": value}
        for name, value in values.items()
        if name.startswith("f-")
    ]
    if "lines" in values:
        given["lines"] = lines_of(values["lines"], shown["columns"])
    tool = TOOLS[shown["place"]]
    sent = bound.attempt(lambda: request.call(tool, form=form, fields=fields, **given))
    if sent is None:
        return page(request, shown, bound)
    request.flash("Sent." if shown["place"] == "mail" else "Posted.")
    return request.redirect(f"/form/{form}")


def lines_of(text: str, columns: list[dict]) -> list[list[object]]:
    """Return the values of each line; whole numbers where a column wants them."""
    lines = []
    for line in filter(str.strip, text.split("\n")):
        cells = [cell.strip() for cell in re.split(r"[;\t]", line)]
        while cells and not cells[-1]:
            cells.pop()
        wanted = [column["kind"] for column in columns] + ["text"] * len(cells)
        lines.append([_value(cell, kind) for cell, kind in zip(cells, wanted, strict=False)])
    return lines


def _value(cell: str, kind: str) -> object:
    if kind in WHOLE and re.fullmatch(r"\d{1,15}", cell):
        return int(cell)
    if KINDS.get(kind) == "decimal" and re.fullmatch(r"-?\d{1,12}(\.\d{1,6})?", cell):
        return float(cell)
    return cell
