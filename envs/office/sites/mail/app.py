"""Mail in a browser: folders, search, conversations, drafts."""

from __future__ import annotations

from agentgym.sites import Field, Form, Request, Response, Site

site = Site()
SIZE = 25

MESSAGE = Form(
    Field("to", "To", "words", required=True, hint="Addresses, separated by commas."),
    Field("cc", "Cc", "words"),
    Field("bcc", "Bcc", "words"),
    Field("sender", "From", "choice"),
    Field("subject", "Subject", most=500),
    Field("body", "Message", "area", most=100_000),
    Field("answers", "In reply to", "hidden"),
)
REPLY = Form(
    Field("body", "Message", "area", required=True, most=100_000),
    Field("to_all", "Reply to all recipients", "check"),
)
FORWARD = Form(
    Field("to", "To", "words", required=True, hint="Addresses, separated by commas."),
    Field("cc", "Cc", "words"),
    Field("body", "Message", "area", most=100_000),
)
FOLDER = Form(Field("name", "Name", required=True, most=100))


def show(request: Request, template: str, status: int = 200, **values: object) -> Response:
    folders = request.rows(
        "SELECT f.name, coalesce(sum(m.unread), 0) AS unread, count(m.id) AS messages"
        " FROM mail_folder f LEFT JOIN mail_message m ON m.folder_id = f.id"
        " GROUP BY f.id ORDER BY f.fixed DESC, f.id"
    )
    values = {"here": "", "text": "", **values}
    return request.page(template, status, folders=folders, **values)


def names(request: Request) -> dict[str, str]:
    rows = request.rows("SELECT lower(email) AS email, name FROM contacts_address")
    return {row["email"]: row["name"] for row in rows}


@site.get("/")
def index(request: Request) -> Response:
    query = request.query
    text, folder = query.get("q").strip(), query.get("folder")
    page = query.number("page", 1, least=1, most=4000)
    if not text and not folder and not query.get("sender") and not query.get("recipient"):
        folder = "Inbox"
    found = request.call(
        "mail_search",
        text=text,
        folder=folder or None,
        sender=query.get("sender") or None,
        recipient=query.get("recipient") or None,
        unread=True if query.get("only") == "unread" else None,
        flagged=True if query.get("only") == "flagged" else None,
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    return show(
        request,
        "list.html",
        here=folder,
        text=text,
        only=query.get("only"),
        found=found,
        page=page,
        size=SIZE,
        names=names(request),
    )


@site.get("/message/{message:int}")
def message(request: Request, message: int) -> Response:
    shown = request.call("mail_get", message=message)
    thread = request.rows(
        "SELECT id, sender, subject, sent_at, unread FROM mail_message WHERE thread = ?"
        " ORDER BY coalesce(sent_at, '9'), id",
        shown["thread"],
    )
    if shown["folder"] == "Drafts" and shown["sent_at"] is None:
        return request.redirect(f"/draft/{message}")
    return show(
        request,
        "message.html",
        here=shown["folder"],
        message=shown,
        thread=thread,
        names=names(request),
    )


def own_addresses(request: Request) -> list[tuple[str, str]]:
    rows = request.rows(
        "SELECT email FROM contacts_address WHERE person_id = 1 ORDER BY email <> main"
    )
    return [(row["email"], row["email"]) for row in rows]


@site.get("/compose")
def compose(request: Request) -> Response:
    form = MESSAGE.choosing({"sender": own_addresses(request)}).blank(
        to=request.query.get("to"), answers=request.query.get("answers")
    )
    return show(request, "compose.html", form=form, draft=None, here="compose")


@site.post("/compose")
def send(request: Request) -> Response:
    form = MESSAGE.bind(request.fields, {"sender": own_addresses(request)})
    values = form.values
    if request.fields.get("do") == "draft":
        form.errors.pop("to", None)
        kept = form.attempt(lambda: keep(request, values, None))
        if kept is not None:
            request.flash("Draft saved.")
            return request.redirect(f"/draft/{kept['id']}")
    else:
        sent = form.attempt(
            lambda: request.call(
                "mail_send",
                to=values["to"],
                subject=values["subject"] or "",
                body=values["body"] or "",
                cc=values["cc"] or None,
                bcc=values["bcc"] or None,
                **({"sender": values["sender"]} if values["sender"] else {}),
            )
        )
        if sent is not None:
            request.flash("Message sent.")
            return request.redirect(f"/message/{sent['id']}")
    return show(request, "compose.html", 422, form=form, draft=None, here="compose")


def keep(request: Request, values: dict, draft: int | None) -> dict:
    answers = values.get("answers")
    return request.call(
        "mail_save_draft",
        to=values["to"] or [],
        subject=values["subject"] or "",
        body=values["body"] or "",
        cc=values["cc"] or None,
        **({} if draft is None else {"draft": draft}),
        **({"answers": int(answers)} if answers and answers.isdigit() else {}),
    )


@site.get("/draft/{draft:int}")
def draft(request: Request, draft: int) -> Response:
    shown = request.call("mail_get", message=draft)
    if shown["sent_at"] is not None:
        return request.redirect(f"/message/{draft}")
    form = MESSAGE.choosing({"sender": own_addresses(request)}).blank(
        to=shown["to"],
        cc=shown["cc"],
        bcc=shown["bcc"],
        sender=shown["sender"],
        subject=shown["subject"],
        body=shown["body"],
        answers=shown["answers"],
    )
    return show(request, "compose.html", form=form, draft=draft, here="Drafts")


@site.post("/draft/{draft:int}")
def change_draft(request: Request, draft: int) -> Response:
    form = MESSAGE.bind(request.fields, {"sender": own_addresses(request)})
    sending = request.fields.get("do") != "draft"
    if not sending:
        form.errors.pop("to", None)
    shown = request.call("mail_get", message=draft)
    values = form.values
    same = (values["to"], values["cc"], values["subject"] or "", values["body"] or "") == (
        *(shown["to"], shown["cc"]),
        *(shown["subject"], shown["body"]),
    )
    done = form.attempt(lambda: shown if same else keep(request, values, draft))
    if done is not None and sending:
        done = form.attempt(lambda: request.call("mail_send_draft", draft=draft))
    if done is None:
        return show(request, "compose.html", 422, form=form, draft=draft, here="Drafts")
    request.flash("Message sent." if sending else "Draft saved.")
    return request.redirect(f"/message/{done['id']}" if sending else f"/draft/{draft}")


@site.get("/message/{message:int}/reply")
def answer(request: Request, message: int) -> Response:
    shown = request.call("mail_get", message=message)
    form = REPLY.blank(to_all=bool(request.query.get("all")))
    return show(request, "reply.html", message=shown, form=form, names=names(request))


@site.post("/message/{message:int}/reply")
def reply(request: Request, message: int) -> Response:
    form = REPLY.bind(request.fields)
    sent = form.attempt(
        lambda: request.call(
            "mail_reply", message=message, body=form.values["body"], to_all=form.values["to_all"]
        )
    )
    if sent is not None:
        request.flash("Reply sent.")
        return request.redirect(f"/message/{message}")
    shown = request.call("mail_get", message=message)
    return show(request, "reply.html", 422, message=shown, form=form, names=names(request))


@site.get("/message/{message:int}/forward")
def pass_on(request: Request, message: int) -> Response:
    shown = request.call("mail_get", message=message)
    form = FORWARD.blank()
    return show(request, "forward.html", message=shown, form=form, names=names(request))


@site.post("/message/{message:int}/forward")
def forward(request: Request, message: int) -> Response:
    form = FORWARD.bind(request.fields)
    values = form.values
    sent = form.attempt(
        lambda: request.call(
            "mail_forward",
            message=message,
            to=values["to"],
            body=values["body"] or "",
            cc=values["cc"] or None,
        )
    )
    if sent is not None:
        request.flash("Message forwarded.")
        return request.redirect(f"/message/{message}")
    shown = request.call("mail_get", message=message)
    return show(request, "forward.html", 422, message=shown, form=form, names=names(request))


@site.post("/messages")
def change(request: Request) -> Response:
    """Do something with the ticked messages, or with one."""
    chosen, do = request.fields.numbers("message"), request.fields.get("do")
    marks = {
        "read": ("Marked as read.", {"unread": False}),
        "unread": ("Marked as unread.", {"unread": True}),
        "flag": ("Flagged.", {"flagged": True}),
        "unflag": ("Flag removed.", {"flagged": False}),
    }
    if not chosen:
        request.flash("Choose at least one message.", "error")
    elif do in marks:
        done, values = marks[do]
        request.attempt(done, "mail_mark", messages=chosen, **values)
    else:
        folder = "Trash" if do == "trash" else request.fields.get("folder")
        request.attempt(f"Moved to {folder}.", "mail_move", messages=chosen, folder=folder)
    return request.back("/")


@site.get("/folders/new")
def new_folder(request: Request) -> Response:
    return show(request, "folder.html", form=FOLDER.blank())


@site.post("/folders/new")
def create_folder(request: Request) -> Response:
    form = FOLDER.bind(request.fields)
    made = form.attempt(lambda: request.call("mail_create_folder", name=form.values["name"]))
    if made is None:
        return show(request, "folder.html", 422, form=form)
    request.flash("Folder created.")
    return request.redirect("/")
