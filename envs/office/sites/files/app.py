"""The company drive in a browser: folders, files, versions, sharing, trash."""

from __future__ import annotations

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site, download

site = Site()
SIZE = 25
ROLES = [("viewer", "Can view"), ("editor", "Can edit")]
FOLDER = Form(Field("name", "Name", required=True, most=200))
FILE = Form(
    Field("name", "Name", required=True, most=200, hint="With its ending, as in plan.md."),
    Field("content", "Content", "area", most=500_000),
)
TEXT = Form(
    Field("content", "Content", "area", most=500_000),
    Field("note", "What was changed", most=500),
    Field("seen_version", "Version", "hidden"),
)
MOVE = Form(
    Field("folder", "Number of the folder", "integer", required=True, least=1),
    Field("name", "Name", required=True, most=200),
    Field("rename", "Put a number behind the name if it is taken", "check"),
)
COPY = Form(
    Field("folder", "Number of the folder", "integer", required=True, least=1),
    Field("name", "Name of the copy", required=True, most=200),
    Field("rename", "Put a number behind the name if it is taken", "check"),
)
SHARE = Form(
    Field("grantee", "Share with", required=True, hint="An address, or everyone.", most=254),
    Field("role", "Right", "choice", required=True, options=ROLES),
    Field("until", "Until day", "date", hint="For good if empty.", arguments=("expires_at",)),
)


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "drive.html", "crumb": None, "intro": "", "text": "", **values}
    return request.page("form.html", status, **values)


def line(request: Request, item: int | None) -> list[dict]:
    """Return the folders around an item, the top first."""
    found: list[dict] = []
    while item is not None and len(found) < 50:
        row = request.rows("SELECT id, name, folder_id FROM files_item WHERE id = ?", item)
        if not row:
            break
        found.insert(0, row[0])
        item = row[0]["folder_id"]
    return found


@site.get("/")
def top(request: Request) -> Response:
    return request.redirect("/folder/1")


@site.get("/folder/{folder:int}")
def folder(request: Request, folder: int) -> Response:
    items = request.call("files_list_folder", folder=folder)
    return request.page(
        "folder.html", items=items, folder=folder, line=line(request, folder), text=""
    )


@site.get("/search")
def search(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=4000)
    since = query.get("since")
    found = request.call(
        "files_search",
        text=query.get("q").strip(),
        kind=query.get("kind") if query.get("kind") in ("file", "folder") else None,
        owner=query.get("owner").strip() or None,
        shared_with=query.get("shared").strip() or None,
        changed_since=f"{since}T00:00:00Z" if since else None,
        in_trash=query.get("trash") == "on",
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    return request.page("search.html", found=found, page=page, size=SIZE, text=query.get("q"))


def item_page(request: Request, item: int, status: int = 200, form: BoundForm | None = None):
    shown = request.call("files_get", item=item)
    content = None
    if shown["kind"] == "file":
        wanted = request.query.number("version", 0, most=10**6)
        given = {"version": wanted} if wanted else {}
        content = request.call("files_read", file=item, **given)
    return request.page(
        "item.html",
        status,
        item=shown,
        content=content,
        line=line(request, shown["folder"]),
        form=form or SHARE.blank(role="viewer"),
        text="",
    )


@site.get("/item/{item:int}")
def item(request: Request, item: int) -> Response:
    return item_page(request, item)


@site.get("/picture/{name}")
def picture(request: Request, name: str) -> Response:
    return request.picture(name)


@site.get("/item/{item:int}/download")
def save(request: Request, item: int) -> Response:
    content = request.call("files_read", file=item)
    name = content["path"].rsplit("/", 1)[-1]
    return download(content["content"].encode(), name, "text/plain; charset=utf-8")


def adding(path: str, form: Form, heading: str, tool: str) -> None:
    """Register a page that makes something in a folder."""

    @site.get(f"/folder/{{folder:int}}/{path}")
    def show(request: Request, folder: int) -> Response:
        return shaped(request, heading, form.blank(), f"/folder/{folder}", "Create")

    @site.post(f"/folder/{{folder:int}}/{path}")
    def make(request: Request, folder: int) -> Response:
        bound = form.bind(request.fields)
        made = bound.attempt(lambda: request.call(tool, folder=folder, **bound.filled))
        if made is None:
            return shaped(request, heading, bound, f"/folder/{folder}", "Create")
        request.flash(f"{made['name']} created.")
        return request.redirect(
            f"/folder/{made['id']}" if made["kind"] == "folder" else f"/item/{made['id']}"
        )


adding("new-folder", FOLDER, "New folder", "files_create_folder")
adding("new-file", FILE, "New file", "files_create_file")


@site.post("/folder/{folder:int}/upload")
def upload(request: Request, folder: int) -> Response:
    chosen = request.files.get("file")
    if not chosen:
        request.flash("Choose a file first.", "error")
    else:
        name, text = chosen[0].name or "upload.txt", chosen[0].text()
        done = f"{name} uploaded."
        request.attempt(done, "files_create_file", folder=folder, name=name, content=text)
    return request.redirect(f"/folder/{folder}")


@site.get("/item/{item:int}/edit")
def edit(request: Request, item: int) -> Response:
    content = request.call("files_read", file=item)
    form = TEXT.blank(content=content["content"], seen_version=content["version"])
    return shaped(request, f"Edit {content['path']}", form, f"/item/{item}", "Save new version")


@site.post("/item/{item:int}/edit")
def write(request: Request, item: int) -> Response:
    form = TEXT.bind(request.fields)
    seen = form.values["seen_version"] or ""
    done = form.attempt(
        lambda: request.call(
            "files_write",
            file=item,
            content=form.values["content"] or "",
            note=form.values["note"] or "",
            **({"seen_version": int(seen)} if seen.isdigit() else {}),
        )
    )
    if done is None:
        return shaped(request, "Edit", form, f"/item/{item}", "Save new version")
    request.flash("New version saved.")
    return request.redirect(f"/item/{item}")


def clash(form: BoundForm) -> str:
    return "number" if form.values["rename"] else "refuse"


@site.get("/item/{item:int}/move")
def moving(request: Request, item: int) -> Response:
    shown = request.call("files_get", item=item)
    form = MOVE.blank(folder=shown["folder"], name=shown["name"])
    return shaped(request, f"Move or rename {shown['name']}", form, f"/item/{item}", "Save")


@site.post("/item/{item:int}/move")
def move(request: Request, item: int) -> Response:
    form = MOVE.bind(request.fields)
    values = form.values
    done = form.attempt(
        lambda: request.call(
            "files_move",
            item=item,
            folder=values["folder"],
            name=values["name"],
            if_taken=clash(form),
        )
    )
    if done is None:
        return shaped(request, "Move or rename", form, f"/item/{item}", "Save")
    request.flash("Moved.")
    return request.redirect(f"/item/{item}")


@site.get("/item/{item:int}/copy")
def copying(request: Request, item: int) -> Response:
    shown = request.call("files_get", item=item)
    form = COPY.blank(folder=shown["folder"], name=shown["name"])
    return shaped(request, f"Copy {shown['name']}", form, f"/item/{item}", "Copy")


@site.post("/item/{item:int}/copy")
def copy(request: Request, item: int) -> Response:
    form = COPY.bind(request.fields)
    values = form.values
    done = form.attempt(
        lambda: request.call(
            "files_copy",
            file=item,
            folder=values["folder"],
            name=values["name"],
            if_taken=clash(form),
        )
    )
    if done is None:
        return shaped(request, "Copy", form, f"/item/{item}", "Copy")
    request.flash("Copied.")
    return request.redirect(f"/item/{done['id']}")


@site.post("/item/{item:int}/share")
def share(request: Request, item: int) -> Response:
    form = SHARE.bind(request.fields)
    values = form.values
    until = {"expires_at": f"{values['until']}T23:59:59Z"} if values["until"] else {}
    done = form.attempt(
        lambda: request.call(
            "files_share", item=item, grantee=values["grantee"], role=values["role"], **until
        )
    )
    if done is None:
        return item_page(request, item, 422, form)
    request.flash(f"Shared with {values['grantee']}.")
    return request.redirect(f"/item/{item}")


@site.post("/item/{item:int}/unshare")
def unshare(request: Request, item: int) -> Response:
    grantee = request.fields.get("grantee")
    request.attempt(
        f"No longer shared with {grantee}.", "files_unshare", item=item, grantee=grantee
    )
    return request.redirect(f"/item/{item}")


@site.post("/item/{item:int}/trash")
def trash(request: Request, item: int) -> Response:
    done = request.attempt("Moved to the trash.", "files_trash", item=item)
    return request.redirect(f"/item/{item}" if done is None else f"/folder/{done['folder']}")


@site.post("/item/{item:int}/restore")
def restore(request: Request, item: int) -> Response:
    done = request.attempt("Restored.", "files_restore", item=item)
    return request.redirect("/search?trash=on" if done is None else f"/item/{item}")
