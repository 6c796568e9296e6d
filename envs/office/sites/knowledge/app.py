"""The knowledge base in a browser: articles, versions, reviews."""

from __future__ import annotations

from agentgym.sites import BoundForm, Field, Form, Request, Response, Site

site = Site()
SIZE = 20
CHANGES = [
    (change, change.capitalize())
    for change in ("title", "figures", "wording", "new rule", "correction", "after review")
]
STATUSES = [("draft", "Draft"), ("published", "Published"), ("archived", "Archived")]
NEW = Form(
    Field("title", "Title", required=True, most=200),
    Field("category", "Category", "choice", required=True),
    Field("owner", "Owner's address", "email", required=True),
    Field("review_on", "Review by", "date", required=True),
    Field("tags", "Tags", "words"),
    Field("body", "Text", "area", required=True, most=100_000),
)
EDIT = Form(
    Field("title", "Title", required=True, most=200),
    Field("body", "Text", "area", required=True, most=100_000),
    Field("note", "What was changed", "choice", options=CHANGES),
    Field("seen_version", "Version", "hidden"),
)
DETAILS = Form(
    Field("category", "Category", "choice", required=True),
    Field("owner", "Owner's address", "email", required=True),
    Field("review_on", "Review by", "date", required=True),
    Field("tags", "Tags", "words"),
)
ARCHIVE = Form(Field("replaced_by", "Article that holds instead", "integer", least=1))
REVIEW = Form(Field("next_review_on", "Next review by", "date", required=True))


def shaped(request: Request, heading: str, form: BoundForm, cancel: str, submit: str, **more):
    status = 200 if form.is_valid else 422
    values = {"heading": heading, "form": form, "cancel": cancel, "submit": submit, **more}
    values = {"layout": "base-of-knowledge.html", "crumb": None, "intro": "", "text": "", **values}
    return request.page("form.html", status, **values)


def categories(request: Request) -> list[tuple[str, str]]:
    rows = request.rows("SELECT id, title FROM knowledge_category ORDER BY title")
    return [(row["id"], row["title"]) for row in rows]


@site.get("/")
def index(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=4000)
    status = query.get("status", "published")
    known = categories(request)
    found = request.call(
        "knowledge_search",
        text=query.get("q").strip(),
        category=query.get("category") or None,
        status=status if status in dict(STATUSES) else None,
        owner=query.get("owner").strip() or None,
        tag=query.get("tag").strip() or None,
        review_overdue=query.get("overdue") == "on",
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    return request.page(
        "list.html",
        found=found,
        page=page,
        size=SIZE,
        text=query.get("q"),
        categories=known,
        titles=dict(known),
        statuses=STATUSES,
        chosen_status=status,
    )


@site.get("/article/{article:int}")
def article(request: Request, article: int) -> Response:
    shown = request.call("knowledge_get", article=article)
    version = request.query.number("version", 0, most=10**6)
    read = None
    if version:
        read = request.call("knowledge_read_version", article=article, version=version)
    titles = dict(categories(request))
    return request.page("article.html", article=shown, read=read, titles=titles, text="")


@site.get("/new")
def new(request: Request) -> Response:
    form = NEW.choosing({"category": categories(request)}).blank()
    return shaped(request, "New article", form, "/", "Save as draft")


@site.post("/new")
def create(request: Request) -> Response:
    form = NEW.bind(request.fields, {"category": categories(request)})
    made = form.attempt(lambda: request.call("knowledge_create", **form.filled))
    if made is None:
        return shaped(request, "New article", form, "/", "Save as draft")
    request.flash("Saved as a draft.")
    return request.redirect(f"/article/{made['id']}")


@site.get("/article/{article:int}/edit")
def edit(request: Request, article: int) -> Response:
    shown = request.call("knowledge_get", article=article)
    form = EDIT.blank(title=shown["title"], body=shown["body"], seen_version=shown["version"])
    return shaped(request, f"Edit {shown['title']}", form, f"/article/{article}", "Save version")


@site.post("/article/{article:int}/edit")
def change(request: Request, article: int) -> Response:
    form = EDIT.bind(request.fields)
    values, seen = form.values, form.values["seen_version"] or ""
    before = request.rows("SELECT title FROM knowledge_article WHERE id = ?", article)
    title = {} if before and before[0]["title"] == values["title"] else {"title": values["title"]}
    done = form.attempt(
        lambda: request.call(
            "knowledge_edit",
            article=article,
            body=values["body"],
            **title,
            note=values["note"] or "",
            **({"seen_version": int(seen)} if seen.isdigit() else {}),
        )
    )
    if done is None:
        return shaped(request, "Edit article", form, f"/article/{article}", "Save version")
    request.flash("Version saved. Readers see it once it is published.")
    return request.redirect(f"/article/{article}")


def registered(path: str, form: Form, heading: str, submit: str, done: str, tool: str) -> None:
    """Register a page with one form that calls a tool about an article."""

    @site.get(f"/article/{{article:int}}/{path}")
    def show(request: Request, article: int) -> Response:
        shown = request.call("knowledge_get", article=article)
        chosen = form.choosing({"category": categories(request)} if path == "details" else {})
        bound = chosen.blank(**{name: shown.get(name) for name in form.fields})
        title = f"{heading}: {shown['title']}"
        return shaped(request, title, bound, f"/article/{article}", submit)

    @site.post(f"/article/{{article:int}}/{path}")
    def act(request: Request, article: int) -> Response:
        options = {"category": categories(request)} if path == "details" else {}
        bound = form.bind(request.fields, options)
        result = bound.attempt(lambda: request.call(tool, article=article, **bound.filled))
        if result is None:
            return shaped(request, heading, bound, f"/article/{article}", submit)
        request.flash(done)
        return request.redirect(f"/article/{article}")


registered("details", DETAILS, "Details", "Save details", "Saved.", "knowledge_set_details")
registered("archive", ARCHIVE, "Archive", "Archive", "Archived.", "knowledge_archive")
registered(
    "review", REVIEW, "Confirm review", "Confirm", "Review confirmed.", "knowledge_confirm_review"
)


@site.post("/article/{article:int}/publish")
def publish(request: Request, article: int) -> Response:
    seen = request.fields.number("seen_version")
    given = {"seen_version": seen} if seen else {}
    request.attempt("Published.", "knowledge_publish", article=article, **given)
    return request.redirect(f"/article/{article}")


@site.post("/article/{article:int}/unarchive")
def unarchive(request: Request, article: int) -> Response:
    request.attempt("It is a draft again.", "knowledge_unarchive", article=article)
    return request.redirect(f"/article/{article}")
