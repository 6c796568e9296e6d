"""Chat in a browser: channels, threads, members."""

from __future__ import annotations

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site

site = Site()
SAY = Form(Field("text", "Message", "area", required=True, most=10_000))
PEOPLE = Field("people", "People", "words", hint="Addresses, @handles or numbers, with commas.")
NEW = Form(
    Field("name", "Name", required=True, most=41, hint="Small letters, digits and dashes."),
    PEOPLE,
    Field("topic", "Topic", most=500),
    Field("private", "Private: only members see it", "check"),
)
DIRECT = Form(Field("people", "People", "words", required=True, hint=PEOPLE.hint))


def channels(request: Request) -> list[dict]:
    """Return the channels of the visitor; a direct one is called after the others in it."""
    return request.rows(
        "SELECT c.id, c.kind, CASE c.kind WHEN 'direct' THEN (SELECT group_concat(p.name, ', ')"
        " FROM chat_member o JOIN contacts_person p ON p.id = o.person_id"
        " WHERE o.channel_id = c.id AND o.person_id <> 1) ELSE c.name END AS name"
        " FROM chat_channel c JOIN chat_member m ON m.channel_id = c.id"
        " WHERE m.person_id = 1 ORDER BY c.kind = 'direct', 3"
    )


def show(request: Request, template: str, status: int = 200, **values: object) -> Response:
    return request.page(template, status, mine=channels(request), **{"text": "", **values})


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit}
    return show(
        request, "form.html", status, layout="chat.html", crumb=None, intro="", here=0, **values
    )


def people(request: Request, form: BoundForm) -> list[int]:
    found: list[int] = []
    for text in form.values.get("people") or []:
        rows = request.rows(
            "SELECT person_id AS id FROM contacts_address WHERE lower(email) = lower(?1)"
            " UNION SELECT id FROM contacts_person WHERE status IN ('active', 'left')"
            " AND (lower(name) = lower(?1) OR cast(id AS TEXT) = ?1 OR '@' || handle = lower(?1))",
            text,
        )
        if len(rows) != 1:
            known = "Nobody is" if not rows else f"{len(rows)} people are"
            form.errors["people"] = f"{known} known as {text[:80]}; enter an e-mail address."
            break
        found.append(rows[0]["id"])
    return found


@site.get("/")
def index(request: Request) -> Response:
    text = request.query.get("name").strip()
    found = request.call("chat_list_channels", text=text)
    return show(request, "channels.html", channels=found, name=text, here=0)


def channel_page(request: Request, channel: int, status: int = 200, form: BoundForm | None = None):
    before = request.query.number("before")
    messages = request.call(
        "chat_read", channel=channel, limit=30, **({"before": before} if before else {})
    )
    about = request.rows("SELECT * FROM chat_channel WHERE id = ?", channel)
    return show(
        request,
        "channel.html",
        status,
        channel=about[0],
        messages=messages,
        form=form or SAY.blank(),
        here=channel,
    )


@site.get("/channel/{channel:int}")
def channel(request: Request, channel: int) -> Response:
    return channel_page(request, channel)


@site.post("/channel/{channel:int}")
def post(request: Request, channel: int) -> Response:
    form = SAY.bind(request.fields)
    text = form.values["text"]
    done = form.attempt(lambda: request.call("chat_post", channel=channel, text=text))
    if done is None:
        return channel_page(request, channel, 422, form)
    return request.redirect(f"/channel/{channel}")


def thread_page(request: Request, message: int, status: int = 200, form: BoundForm | None = None):
    messages = request.call("chat_get_thread", message=message)
    first = messages[0]
    return show(
        request,
        "thread.html",
        status,
        messages=messages,
        first=first,
        form=form or SAY.blank(),
        here=first["channel"],
    )


@site.get("/thread/{message:int}")
def thread(request: Request, message: int) -> Response:
    return thread_page(request, message)


@site.post("/thread/{message:int}")
def answer(request: Request, message: int) -> Response:
    form = SAY.bind(request.fields)
    row = request.rows("SELECT channel_id FROM chat_message WHERE id = ?", message)
    text, channel = form.values["text"], row[0]["channel_id"] if row else 0
    done = form.attempt(
        lambda: request.call("chat_post", channel=channel, text=text, thread=message)
    )
    if done is None:
        return thread_page(request, message, 422, form)
    return request.redirect(f"/thread/{message}")


@site.get("/channel/{channel:int}/members")
def members(request: Request, channel: int) -> Response:
    found = request.call("chat_list_members", channel=channel)
    about = request.rows("SELECT * FROM chat_channel WHERE id = ?", channel)
    values = {"members": found, "channel": about[0], "form": DIRECT.blank(), "here": channel}
    return show(request, "members.html", **values)


@site.post("/channel/{channel:int}/invite")
def invite(request: Request, channel: int) -> Response:
    form = DIRECT.bind(request.fields)
    invited = people(request, form)
    done = form.attempt(lambda: request.call("chat_invite", channel=channel, people=invited))
    if done is None:
        return shaped(request, "Invite people", form, f"/channel/{channel}/members", "Invite")
    request.flash("Invited.")
    return request.redirect(f"/channel/{channel}/members")


@site.post("/channel/{channel:int}/join")
def join(request: Request, channel: int) -> Response:
    request.attempt("You are a member now.", "chat_join", channel=channel)
    return request.redirect(f"/channel/{channel}")


@site.post("/channel/{channel:int}/leave")
def leave(request: Request, channel: int) -> Response:
    request.attempt("You have left the channel.", "chat_leave", channel=channel)
    return request.redirect("/")


@site.get("/new")
def new(request: Request) -> Response:
    return shaped(request, "New channel", NEW.blank(), "/", "Create channel")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields)
    invited = people(request, form)
    values = form.values
    made = form.attempt(
        lambda: request.call(
            "chat_create_channel",
            name=values["name"],
            people=invited,
            topic=values["topic"] or "",
            private=values["private"],
        )
    )
    if made is None:
        return shaped(request, "New channel", form, "/", "Create channel")
    request.flash("Channel created.")
    return request.redirect(f"/channel/{made['id']}")


@site.get("/direct")
def writing(request: Request) -> Response:
    return shaped(request, "Direct message", DIRECT.blank(), "/", "Open conversation")


@site.post("/direct")
def direct(request: Request) -> Response:
    form = DIRECT.bind(request.fields)
    invited = people(request, form)
    made = form.attempt(lambda: request.call("chat_open_direct", people=invited))
    if made is None:
        return shaped(request, "Direct message", form, "/", "Open conversation")
    return request.redirect(f"/channel/{made['id']}")


@site.get("/message/{message:int}/edit")
def editing(request: Request, message: int) -> Response:
    thread = request.call("chat_get_thread", message=message)
    form = SAY.blank(text=next((m["text"] for m in thread if m["id"] == message), ""))
    return shaped(request, "Edit message", form, f"/thread/{message}", "Save")


@site.post("/message/{message:int}/edit")
def edit(request: Request, message: int) -> Response:
    form = SAY.bind(request.fields)
    text = form.values["text"]
    done = form.attempt(lambda: request.call("chat_edit", message=message, text=text))
    if done is None:
        return shaped(request, "Edit message", form, f"/thread/{message}", "Save")
    return request.redirect(f"/thread/{message}")


@site.post("/message/{message:int}/delete")
def delete(request: Request, message: int) -> Response:
    request.attempt("Message deleted.", "chat_delete", message=message)
    return request.back("/")


@site.post("/message/{message:int}/react")
def react(request: Request, message: int) -> Response:
    emoji = request.fields.get("emoji")
    request.attempt("Reaction changed.", "chat_react", message=message, emoji=emoji)
    return request.back("/")


@site.get("/search")
def search(request: Request) -> Response:
    text = request.query.get("q").strip()
    page = request.query.number("page", 1, least=1, most=4000)
    found = request.call("chat_search", text=text, limit=20, offset=20 * (page - 1))
    return show(request, "search.html", found=found, text=text, page=page, here=0)
