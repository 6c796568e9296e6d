"""The forum for members: boards, threads, drafts, profiles; moderation is in `moderation.py`."""

from __future__ import annotations

from agentgym.sites import Field, Form, Request, Response, SignIn

from .moderation import STATUSES, account, person, shaped, show, site

SIZE, POSTS = 20, 10
ORDERS = [
    ("active", "Last activity"),
    ("newest", "Newest first"),
    ("oldest", "Oldest first"),
    ("replies", "Most replies"),
]
THREAD = Form(
    Field("title", "Title", required=True, most=200),
    Field("body", "Text", "area", required=True, most=8000),
)
REPLY = Form(Field("body", "Your reply", "area", required=True, most=8000))
EDIT = Form(Field("body", "Text", "area", required=True, most=8000))
REPORT = Form(
    Field(
        "reason",
        "What is wrong?",
        "radio",
        required=True,
        options=[
            ("spam", "Advertising"),
            ("insult", "Insult"),
            ("private", "Private data"),
            ("off-topic", "Does not belong here"),
            ("other", "Something else"),
        ],
    ),
    Field("note", "More about it", "area", most=500, hint="Needed for “Something else”."),
)
DRAFTS = (
    "SELECT d.id, b.slug AS board, d.thread_id AS thread, d.title, d.body, d.updated_at"
    " FROM forum_draft d LEFT JOIN forum_board b ON b.id = d.board_id"
    " WHERE d.user_id = ? ORDER BY d.updated_at DESC, d.id DESC"
)


sign_in = SignIn(
    site,
    shaped,
    "forum_log_in",
    intro="Accounts of the shop do not work here: the forum has its own.",
).required


@site.get("/")
def boards(request: Request) -> Response:
    found = request.call("forum_list_threads", limit=8)
    return show(request, "boards.html", latest=found["threads"])


@site.get("/board/{slug}")
def board(request: Request, slug: str) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=1000)
    order = query.get("order") if query.get("order") in dict(ORDERS) else "active"
    status = query.get("status") if query.get("status") in dict(STATUSES) else None
    found = request.call(
        "forum_list_threads",
        board=slug,
        status=status,
        label=query.get("label") or None,
        unanswered=query.get("unanswered") == "on",
        order=order,
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    values = {"found": found, "page": page, "size": SIZE, "slug": slug}
    return show(request, "board.html", **values, orders=ORDERS, order=order, statuses=STATUSES)


@site.get("/board/{slug}/new")
def new_thread(request: Request, slug: str) -> Response:
    if not account(request):
        return sign_in(request)
    return thread_form(request, slug, THREAD.blank())


def thread_form(request: Request, slug: str, form, status: int = 200) -> Response:
    return show(request, "new.html", status, slug=slug, form=form)


@site.post("/board/{slug}/new")
def start_thread(request: Request, slug: str) -> Response:
    form = THREAD.bind(request.fields)
    values = {"account": account(request), "board": slug, **form.values}
    if request.fields.get("do") == "draft":
        kept = form.attempt(lambda: request.call("forum_save_draft", **values))
        if kept is not None:
            request.flash("Kept as a draft.")
            return request.redirect("/drafts")
    else:
        made = form.attempt(lambda: request.call("forum_start_thread", **values))
        if made is not None:
            request.flash("Your thread is published.")
            return request.redirect(f"/thread/{made['id']}")
    return thread_form(request, slug, form, 422)


def thread_page(request: Request, thread: int, form, status: int = 200) -> Response:
    found = request.call("forum_get_thread", thread=thread)
    if found["merged_into"]:
        request.flash(f"Thread {thread} was merged into this one.", "note")
        return request.redirect(f"/thread/{found['merged_into']}")
    page = request.query.number("page", 1, least=1, most=1000)
    asked = {"thread": thread, "account": account(request), "limit": POSTS}
    posts = request.call("forum_list_posts", **asked, offset=POSTS * (page - 1))
    values = {"thread": found, "posts": posts, "page": page, "size": POSTS, "form": form}
    return show(request, "thread.html", status, **values)


@site.get("/thread/{thread:int}")
def thread(request: Request, thread: int) -> Response:
    return thread_page(request, thread, REPLY.blank())


@site.post("/thread/{thread:int}")
def reply(request: Request, thread: int) -> Response:
    if not account(request):
        return sign_in(request, f"/thread/{thread}")
    form = REPLY.bind(request.fields)
    values = {"account": account(request), "thread": thread, "body": form.values["body"]}
    draft = request.fields.get("do") == "draft"
    tool = "forum_save_draft" if draft else "forum_reply"
    made = form.attempt(lambda: request.call(tool, **values))
    if made is None:
        return thread_page(request, thread, form, 422)
    if draft:
        request.flash("Kept as a draft.")
        return request.redirect("/drafts")
    request.flash("Your reply is published.")
    total = request.call("forum_list_posts", thread=thread, account=account(request), limit=1)
    last = (total["total"] - 1) // POSTS + 1
    return request.redirect(f"/thread/{thread}?page={last}" if last > 1 else f"/thread/{thread}")


@site.post("/thread/{thread:int}/status")
def own_status(request: Request, thread: int) -> Response:
    status = request.fields.get("status")
    values = {"account": account(request), "thread": thread, "status": status}
    request.attempt(f"The thread is {status}.", "forum_set_status", **values)
    return request.redirect(f"/thread/{thread}")


@site.get("/post/{post:int}/edit")
def editing(request: Request, post: int) -> Response:
    row = post_of(request, post)
    return shaped(request, "Edit post", EDIT.blank(body=row["body"]), row["back"], "Save")


@site.post("/post/{post:int}/edit")
def edit(request: Request, post: int) -> Response:
    form, row = EDIT.bind(request.fields), post_of(request, post)
    values = {"account": account(request), "post": post, "body": form.values["body"]}
    if form.attempt(lambda: request.call("forum_edit_post", **values)) is None:
        return shaped(request, "Edit post", form, row["back"], "Save")
    request.flash("Saved.")
    return request.redirect(row["back"])


def post_of(request: Request, post: int) -> dict:
    """Return text and place of a visible post."""
    rows = request.rows(
        "SELECT body, thread_id FROM forum_post WHERE id = ? AND status = 'visible'", post
    )
    row = rows[0] if rows else {"body": "", "thread_id": 0}
    back = f"/thread/{row['thread_id']}" if rows else "/"
    return {"body": row["body"], "back": back}


@site.get("/post/{post:int}/report")
def reporting(request: Request, post: int) -> Response:
    if not account(request):
        return sign_in(request)
    back = post_of(request, post)["back"]
    return shaped(request, f"Report post {post}", REPORT.blank(), back, "Send report")


@site.post("/post/{post:int}/report")
def report(request: Request, post: int) -> Response:
    form, back = REPORT.bind(request.fields), post_of(request, post)["back"]
    note = (form.values["note"] or "").strip()
    if form.values["reason"] == "other" and not note:
        form.errors["note"] = "Say what is wrong."
    values = {"account": account(request), "post": post, "reason": form.values["reason"]}
    made = form.attempt(lambda: request.call("forum_flag_post", **values, note=note))
    if made is None:
        return shaped(request, f"Report post {post}", form, back, "Send report")
    request.flash("Thank you, the moderators will look at it.")
    return request.redirect(back)


@site.get("/search")
def search(request: Request) -> Response:
    query = request.query
    page = query.number("page", 1, least=1, most=1000)
    found = request.call(
        "forum_search",
        text=query.get("q").strip(),
        board=query.get("board") or None,
        author=query.get("author").strip() or None,
        account=account(request),
        limit=SIZE,
        offset=SIZE * (page - 1),
    )
    values = {"found": found, "page": page, "size": SIZE, "text": query.get("q")}
    return show(request, "search.html", **values)


@site.get("/user/{handle}")
def user(request: Request, handle: str) -> Response:
    found = request.call("forum_get_user", user=handle)
    page = request.query.number("page", 1, least=1, most=1000)
    threads = request.call(
        "forum_list_threads", author=handle, order="newest", limit=SIZE, offset=SIZE * (page - 1)
    )
    return show(request, "user.html", user=found, found=threads, page=page, size=SIZE)


# --- drafts ------------------------------------------------------------------------------------


@site.get("/drafts")
def drafts(request: Request) -> Response:
    if not account(request):
        return sign_in(request)
    # The list cuts the texts, so that a call of the tool says that a draft was opened.
    found = request.rows(DRAFTS, account(request))
    titles = request.rows("SELECT id, title FROM forum_thread")
    return show(
        request, "drafts.html", drafts=found, titles={row["id"]: row["title"] for row in titles}
    )


def own_draft(request: Request, draft: int) -> dict | None:
    found = request.call("forum_list_drafts", account=account(request))
    return next((each for each in found if each["id"] == draft), None)


def draft_form(draft: dict) -> Form:
    return EDIT if draft["thread"] is not None else THREAD


@site.get("/draft/{draft:int}")
def one_draft(request: Request, draft: int) -> Response:
    found = own_draft(request, draft)
    if found is None:
        request.flash(f"You have no draft {draft}.", "error")
        return request.redirect("/drafts")
    form = draft_form(found).blank(title=found["title"], body=found["body"])
    return show(request, "draft.html", draft=found, form=form)


@site.post("/draft/{draft:int}")
def save_draft(request: Request, draft: int) -> Response:
    found = own_draft(request, draft)
    if found is None:
        return request.redirect("/drafts")
    form = draft_form(found).bind(request.fields)
    place = {"thread": found["thread"]} if found["thread"] else {"board": found["board"]}
    values = {"account": account(request), "draft": draft, **place, **form.values}
    if form.attempt(lambda: request.call("forum_save_draft", **values)) is None:
        return show(request, "draft.html", 422, draft=found, form=form)
    if request.fields.get("do") != "publish":
        request.flash("Draft saved.")
        return request.redirect("/drafts")
    told = {"account": account(request), "draft": draft}
    made = form.attempt(lambda: request.call("forum_publish_draft", **told))
    if made is None:
        return show(request, "draft.html", 422, draft=found, form=form)
    request.flash("Published.")
    return request.redirect(f"/thread/{made['id']}")


@site.post("/draft/{draft:int}/discard")
def discard(request: Request, draft: int) -> Response:
    values = {"account": account(request), "draft": draft}
    request.attempt("The draft is gone.", "forum_discard_draft", **values)
    return request.redirect("/drafts")


__all__ = ["person", "site"]
