"""Contacts in a browser: people, duplicates, groups."""

from __future__ import annotations

import re

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site

site = Site()
SIZE = 25
ZONES = [
    (zone, zone.replace("_", " "))
    for zone in (
        *("America/New_York", "America/Toronto", "Asia/Singapore", "Europe/Berlin"),
        *("Europe/Lisbon", "Europe/London", "UTC"),
    )
]
NEW = Form(
    Field("name", "Name", required=True, most=200),
    Field("email", "E-mail address", "email", required=True),
    Field("company", "Company", required=True, most=200),
    Field("role", "Role", most=200),
    Field("phone", "Phone", most=200),
    Field("timezone", "Time zone", "choice", options=ZONES),
    Field("note", "Note", "area", most=10_000),
)
EDIT = Form(
    *NEW.fields.values(),
    Field("status", "Status", "choice", options=[("active", "Active"), ("left", "Has left")]),
)
NOTE = Form(Field("note", "Note", "area", most=10_000))
MERGE = Form(
    Field(
        "into",
        "Entry that stays",
        "integer",
        required=True,
        least=1,
        hint="Number of the other entry; it stands on its page.",
        arguments=("person",),
    )
)
GROUP = Form(
    Field("name", "Name", required=True, most=200),
    Field("members", "Members", "words", hint="Addresses or numbers of people, with commas."),
    Field("note", "Purpose", "area", most=10_000),
)


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "contacts.html", "crumb": None, "intro": "", "text": "", **values}
    return request.page("form.html", status, **values)


def people(request: Request, form: BoundForm, name: str) -> list[int]:
    """Return the numbers of people whom a field names by number, address or full name."""
    found: list[int] = []
    for text in form.values.get(name) or []:
        rows = request.rows(
            "SELECT person_id AS id FROM contacts_address WHERE lower(email) = lower(?1)"
            " UNION SELECT id FROM contacts_person WHERE status IN ('active', 'left')"
            " AND (lower(name) = lower(?1) OR cast(id AS TEXT) = ?1)",
            text,
        )
        if len(rows) != 1:
            known = "Nobody is" if not rows else f"{len(rows)} people are"
            form.errors[name] = f"{known} known as {text[:80]}; enter an e-mail address."
            break
        found.append(rows[0]["id"])
    return found


@site.get("/")
def index(request: Request) -> Response:
    query = request.query
    text = query.get("q").strip()
    if re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+", text):
        owner = request.rows(
            "SELECT person_id FROM contacts_address WHERE lower(email) = lower(?)", text
        )
        if len(owner) == 1:
            found = request.call("contacts_find_address", email=text.lower())
            return request.redirect(f"/person/{found['id']}")
    page = query.number("page", 1, least=1, most=4000)
    kind, status = query.get("kind"), query.get("status")
    found = request.call(
        "contacts_search",
        text=text,
        kind=kind if kind in ("colleague", "outside") else None,
        department=query.get("department") or None,
        company=query.get("company") or None,
        status=status if status in ("active", "left") else None,
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    departments = request.rows(
        "SELECT DISTINCT department FROM contacts_person WHERE department IS NOT NULL ORDER BY 1"
    )
    return request.page(
        "list.html",
        found=found,
        page=page,
        size=SIZE,
        text=text,
        departments=[row["department"] for row in departments],
    )


@site.get("/person/{person:int}")
def person(request: Request, person: int) -> Response:
    shown = request.call("contacts_get", person=person)
    manager = request.rows("SELECT id, name FROM contacts_person WHERE id = ?", shown["manager_id"])
    groups = request.rows(
        "SELECT g.id, g.name FROM contacts_group g JOIN contacts_member m ON m.group_id = g.id"
        " WHERE m.person_id = ? ORDER BY g.name",
        person,
    )
    return request.page("person.html", person=shown, manager=manager, groups=groups, text="")


@site.get("/new")
def new(request: Request) -> Response:
    return shaped(request, "New contact", NEW.blank(timezone="UTC"), "/", "Create contact")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields)
    made = form.attempt(lambda: request.call("contacts_create", **form.filled))
    if made is None:
        return shaped(request, "New contact", form, "/", "Create contact")
    request.flash("Contact created.")
    return request.redirect(f"/person/{made['id']}")


@site.get("/person/{person:int}/edit")
def edit(request: Request, person: int) -> Response:
    shown = request.call("contacts_get", person=person)
    form = EDIT if shown["kind"] == "outside" else NOTE
    values = {name: shown[name] for name in form.fields}
    back = f"/person/{person}"
    return shaped(request, f"Edit {shown['name']}", form.blank(**values), back, "Save changes")


@site.post("/person/{person:int}/edit")
def change(request: Request, person: int) -> Response:
    shown = request.call("contacts_get", person=person)
    form = (EDIT if shown["kind"] == "outside" else NOTE).bind(request.fields)
    # Only what was changed is sent: of a colleague, nothing but the note can be.
    values = {k: v or "" for k, v in form.values.items() if (v or "") != (shown[k] or "")}
    done = form.attempt(lambda: request.call("contacts_update", person=person, **values))
    back = f"/person/{person}"
    if done is None:
        return shaped(request, f"Edit {shown['name']}", form, back, "Save changes")
    request.flash("Changes saved.")
    return request.redirect(back)


@site.post("/person/{person:int}/delete")
def delete(request: Request, person: int) -> Response:
    done = request.attempt("Contact deleted.", "contacts_delete", person=person)
    return request.redirect(f"/person/{person}" if done is None else "/")


@site.get("/person/{person:int}/merge")
def merging(request: Request, person: int) -> Response:
    shown = request.call("contacts_get", person=person)
    return merge_page(request, shown, MERGE.blank())


def merge_page(request: Request, shown: dict, form: BoundForm) -> Response:
    intro = (
        f"{shown['name']} (number {shown['id']}, {shown['email']}) becomes part of another entry "
        "and is gone afterwards. This cannot be undone."
    )
    back, heading = f"/person/{shown['id']}", f"Merge {shown['name']} into another entry"
    return shaped(request, heading, form, back, "Merge", intro=intro)


@site.post("/person/{person:int}/merge")
def merge(request: Request, person: int) -> Response:
    form = MERGE.bind(request.fields)
    into = form.values["into"]
    done = form.attempt(lambda: request.call("contacts_merge", person=person, into=into))
    if done is None:
        return merge_page(request, request.call("contacts_get", person=person), form)
    request.flash("Entries merged.")
    return request.redirect(f"/person/{into}")


@site.get("/groups")
def groups(request: Request) -> Response:
    text = request.query.get("q")
    found = request.call("contacts_list_groups", text=text)
    return request.page("groups.html", groups=found, text=text)


@site.get("/groups/new")
def new_group(request: Request) -> Response:
    return shaped(request, "New group", GROUP.blank(), "/groups", "Create group")


@site.post("/groups/new")
def create_group(request: Request) -> Response:
    form = GROUP.bind(request.fields)
    members = people(request, form, "members")
    made = form.attempt(
        lambda: request.call(
            "contacts_create_group",
            name=form.values["name"],
            members=members,
            note=form.values["note"] or "",
        )
    )
    if made is None:
        return shaped(request, "New group", form, "/groups", "Create group")
    request.flash("Group created.")
    return request.redirect(f"/group/{made['id']}")


ADD = Form(
    Field(
        "add",
        "Add people",
        "words",
        required=True,
        hint="Addresses or numbers of people, with commas.",
    )
)


@site.get("/group/{group:int}")
def group(request: Request, group: int) -> Response:
    shown = request.call("contacts_get_group", group=group)
    return request.page("group.html", group=shown, form=ADD.blank(), text="")


@site.post("/group/{group:int}/add")
def add(request: Request, group: int) -> Response:
    form = ADD.bind(request.fields)
    added = people(request, form, "add")
    done = form.attempt(lambda: request.call("contacts_change_group", group=group, add=added))
    if done is None:
        shown = request.call("contacts_get_group", group=group)
        return request.page("group.html", 422, group=shown, form=form, text="")
    request.flash("Added to the group.")
    return request.redirect(f"/group/{group}")


@site.post("/group/{group:int}/remove")
def remove(request: Request, group: int) -> Response:
    gone = request.fields.numbers("person")
    request.attempt("Removed from the group.", "contacts_change_group", group=group, remove=gone)
    return request.redirect(f"/group/{group}")
