"""The forum's pages for moderators: reports, hidden posts, threads, members, the log."""

from __future__ import annotations

from agentgym.sites import Field, Form, FormPages, Request, Response, Site

site = Site()
STATUSES = [
    ("open", "Open"),
    ("answered", "Answered"),
    ("planned", "Planned"),
    ("done", "Done"),
    ("declined", "Declined"),
]
HIDE = Form(Field("reason", "Reason, which the author reads", required=True, most=200))
SUSPEND = Form(
    Field("days", "Days", "integer", required=True, least=0, most=365, hint="0 ends it."),
    Field("reason", "Reason", "area", most=500),
)
MERGE = Form(Field("into", "Number of the thread that stays", "integer", required=True, least=1))
MANAGE = Form(
    Field("board", "Board", "choice", required=True),
    Field("status", "Status", "choice", required=True, options=STATUSES),
    Field("assignee", "Responsible", "choice"),
    Field("labels", "Labels", "words", hint="Separated by commas."),
    Field("pinned", "Pinned", "check"),
    Field("locked", "Locked", "check"),
)


def account(request: Request) -> int:
    """Return the account that is signed in; 0 without one."""
    return int(request.session.user or 0)


def person(request: Request) -> dict | None:
    """Return who is signed in."""
    rows = request.rows("SELECT id, handle, role FROM forum_user WHERE id = ?", account(request))
    return rows[0] if rows else None


def show(request: Request, template: str, http_status: int = 200, **values: object) -> Response:
    me = person(request)
    moderates = bool(me and me["role"] != "member")
    waiting = 0
    if moderates:
        rows = request.rows("SELECT count(*) AS n FROM forum_flag WHERE status = 'open'")
        waiting = rows[0]["n"]
    boards = request.vary.order("forum.boards", request.call("forum_list_boards"))
    values = {"text": "", "crumb": None, "intro": "", "slug": "", **values}
    names = {each["slug"]: each["name"] for each in boards}
    about = {"me": me, "moderates": moderates, "waiting": waiting, "status_names": dict(STATUSES)}
    return request.page(template, http_status, boards=boards, names=names, **about, **values)


shaped = FormPages(show, "forum.html")


@site.get("/reports")
def reports(request: Request) -> Response:
    everything = request.query.get("all") == "on"
    page = request.query.number("page", 1, least=1, most=1000)
    found = request.call(
        "forum_list_flags",
        account=account(request),
        waiting=not everything,
        limit=20,
        offset=20 * (page - 1),
    )
    return show(request, "reports.html", flags=found, everything=everything, page=page, size=20)


@site.post("/report/{flag:int}")
def decide(request: Request, flag: int) -> Response:
    uphold = request.fields.get("uphold") == "yes"
    told = f"Report {flag}: the post is hidden." if uphold else f"Report {flag} is rejected."
    values = {"account": account(request), "flag": flag, "uphold": uphold}
    request.attempt(told, "forum_decide_flag", **values)
    return request.back("/reports")


@site.get("/post/{post:int}/hide")
def hiding(request: Request, post: int) -> Response:
    return shaped(request, f"Hide post {post}", HIDE.blank(), "/reports", "Hide post")


@site.post("/post/{post:int}/hide")
def hide(request: Request, post: int) -> Response:
    form = HIDE.bind(request.fields)
    values = {"account": account(request), "post": post, "reason": form.values["reason"]}
    done = form.attempt(lambda: request.call("forum_hide_post", **values))
    if done is None:
        return shaped(request, f"Hide post {post}", form, "/reports", "Hide post")
    request.flash(f"Post {post} is hidden.")
    return request.redirect(f"/thread/{done['thread']}")


@site.post("/post/{post:int}/restore")
def restore(request: Request, post: int) -> Response:
    values = {"account": account(request), "post": post}
    request.attempt(f"Post {post} is visible again.", "forum_restore_post", **values)
    return request.back("/reports")


def manage_options(request: Request) -> dict:
    boards = [(each["slug"], each["name"]) for each in request.call("forum_list_boards")]
    staff = request.rows("SELECT handle FROM forum_user WHERE role <> 'member' ORDER BY handle")
    return {"board": boards, "assignee": [(row["handle"], row["handle"]) for row in staff]}


@site.get("/thread/{thread:int}/manage")
def managing(request: Request, thread: int) -> Response:
    request.call("forum_list_log", account=account(request), limit=1)
    found = request.call("forum_get_thread", thread=thread)
    names = ("board", "status", "assignee", "labels")
    values = {name: found[name] for name in names}
    marks = {name: "on" if found[name] else None for name in ("pinned", "locked")}
    form = MANAGE.choosing(manage_options(request)).blank(**values, **marks)
    return shaped(request, f"Manage thread {thread}", form, f"/thread/{thread}", "Save")


@site.post("/thread/{thread:int}/manage")
def manage(request: Request, thread: int) -> Response:
    form = MANAGE.bind(request.fields, manage_options(request))
    if form.attempt(lambda: arrange(request, thread, form.values) or True) is None:
        return shaped(request, f"Manage thread {thread}", form, f"/thread/{thread}", "Save")
    request.flash("The thread is arranged.")
    return request.redirect(f"/thread/{thread}")


def arrange(request: Request, thread: int, wanted: dict) -> None:
    """Change what differs."""
    found = request.call("forum_get_thread", thread=thread)
    values = {"account": account(request), "thread": thread}
    if wanted["board"] != found["board"]:
        request.call("forum_move_thread", **values, board=wanted["board"])
    if wanted["status"] != found["status"]:
        request.call("forum_set_status", **values, status=wanted["status"])
    if (wanted["assignee"] or "") != found["assignee"]:
        request.call("forum_assign", **values, user=wanted["assignee"] or "")
    labels = {label.strip().lower() for label in wanted["labels"] or ()}
    for label in sorted(labels ^ set(found["labels"])):
        request.call("forum_label_thread", **values, label=label, present=label in labels)
    marks = {n: bool(wanted[n]) for n in ("pinned", "locked") if bool(wanted[n]) != found[n]}
    if marks:
        request.call("forum_set_marks", **values, **marks)


@site.get("/thread/{thread:int}/merge")
def merging(request: Request, thread: int) -> Response:
    request.call("forum_list_log", account=account(request), limit=1)
    found = request.call("forum_get_thread", thread=thread)
    heading, back = f"Merge “{found['title']}”", f"/thread/{thread}"
    return shaped(request, heading, MERGE.blank(), back, "Merge threads")


@site.post("/thread/{thread:int}/merge")
def merge(request: Request, thread: int) -> Response:
    form = MERGE.bind(request.fields)
    values = {"account": account(request), "thread": thread, "into": form.values["into"]}
    done = form.attempt(lambda: request.call("forum_merge_threads", **values))
    if done is None:
        return shaped(request, "Merge", form, f"/thread/{thread}", "Merge threads")
    request.flash(f"Thread {thread} is merged.")
    return request.redirect(f"/thread/{done['id']}")


@site.get("/user/{handle}/suspend")
def suspending(request: Request, handle: str) -> Response:
    back = f"/user/{handle}"
    return shaped(request, f"Suspend {handle}", SUSPEND.blank(), back, "Save suspension")


@site.post("/user/{handle}/suspend")
def suspend(request: Request, handle: str) -> Response:
    form = SUSPEND.bind(request.fields)
    values = {"account": account(request), "user": handle, "reason": form.values["reason"] or ""}
    done = form.attempt(
        lambda: request.call("forum_suspend_user", **values, days=form.values["days"])
    )
    if done is None:
        return shaped(request, f"Suspend {handle}", form, f"/user/{handle}", "Save suspension")
    until = done["suspended_until"][:10]
    request.flash(f"{handle} is suspended until {until}." if until else f"{handle} may write.")
    return request.redirect(f"/user/{handle}")


@site.post("/user/{handle}/role")
def role(request: Request, handle: str) -> Response:
    wanted = request.fields.get("role")
    values = {"account": account(request), "user": handle, "role": wanted}
    request.attempt(f"{handle} is {wanted} now.", "forum_set_role", **values)
    return request.redirect(f"/user/{handle}")


@site.get("/log")
def log(request: Request) -> Response:
    page = request.query.number("page", 1, least=1, most=1000)
    entries = request.call(
        "forum_list_log", account=account(request), limit=50, offset=50 * (page - 1)
    )
    return show(request, "log.html", entries=entries, page=page, size=50)
