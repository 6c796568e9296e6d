"""The forum: members write and keep drafts, moderators keep order, and rights hold."""

from __future__ import annotations

import pytest
from pages import World

HOST = "forum.shop.example"
NORA = {"email": "nora.winter@mail.example", "password": "amber-lantern-7"}
MODERATOR = {"email": "tomas@shop.example", "password": "paper-window-9"}
ADMIN = {"email": "mara@shop.example", "password": "ledger-bridge-4"}


@pytest.fixture
async def forum():
    world = World("web", "")
    yield world
    await world.close()


async def signed_in(world, who):
    return await world.send(await world.read(HOST, "/login"), "/login", **who)


@pytest.mark.parametrize("who", [NORA, ADMIN], ids=["member", "admin"])
async def test_every_page_opens_and_every_form_takes_nonsense(forum, who):
    await signed_in(forum, who)
    before = forum.backend.hash
    seen, forms = await forum.crawl(f"http://{HOST}/")
    assert len(seen) > 15 and forum.backend.hash == before
    forms = {url: form for url, form in forms.items() if "logout" not in url}
    await forum.send_nonsense(forms.values())


def a_thread(forum, more=""):
    ours = "locked = 0 AND board_id = 2 AND author_id > 9"
    return forum.value(f"SELECT max(id) FROM forum_thread WHERE {ours} {more}")


async def test_a_reply_waits_as_a_draft_and_is_published_once(forum):
    thread = a_thread(forum)
    page = await forum.read(HOST, f"/thread/{thread}")
    assert "Sign in</a> to reply" in page.response.text
    await signed_in(forum, NORA)
    page = await forum.read(HOST, f"/thread/{thread}")
    page = await forum.send(page, f"/thread/{thread}", body="", do="draft")
    assert 'id="body-error"' in page.response.text
    page = await forum.send(page, f"/thread/{thread}", body="It is 31 cm.", do="draft")
    draft = forum.value("SELECT max(id) FROM forum_draft")
    posts = forum.value("SELECT count(*) FROM forum_post")
    page = await forum.read(HOST, f"/draft/{draft}")
    page = await forum.send(page, f"/draft/{draft}", body="It is 32 cm.", do="publish")
    assert "It is 32 cm." in page.response.text
    assert forum.value("SELECT count(*) FROM forum_post") == posts + 1
    assert forum.value("SELECT count(*) FROM forum_draft WHERE id = ?", draft) == 0
    # Somebody else's draft is not there.
    foreign = forum.value("SELECT min(id) FROM forum_draft WHERE user_id > 1")
    page = await forum.read(HOST, f"/draft/{foreign}")
    assert f"You have no draft {foreign}." in page.response.text


async def test_a_report_is_upheld_and_the_post_is_gone_for_members(forum):
    await signed_in(forum, NORA)
    post = forum.value(
        "SELECT max(p.id) FROM forum_post p JOIN forum_thread t ON t.id = p.thread_id"
        " WHERE p.status = 'visible' AND p.author_id > 9 AND t.locked = 0"
    )
    page = await forum.read(HOST, f"/post/{post}/report")
    bad = await forum.send(page, "/report", reason="other", note=" ")
    assert 'id="note-error"' in bad.response.text
    page = await forum.send(page, "/report", reason="spam")
    again = await forum.read(HOST, f"/post/{post}/report")
    again = await forum.send(again, "/report", reason="spam")
    assert "reported this post already" in again.response.text
    flag = forum.value("SELECT max(id) FROM forum_flag")
    thread = forum.value("SELECT thread_id FROM forum_post WHERE id = ?", post)
    await signed_in(forum, MODERATOR)
    page = await forum.read(HOST, "/reports")
    await forum.send(page, f"/report/{flag}", uphold="yes")
    assert forum.value("SELECT status FROM forum_post WHERE id = ?", post) == "hidden"
    logged = forum.value("SELECT target FROM forum_log ORDER BY id DESC LIMIT 1")
    assert logged == f"post {post}"
    await signed_in(forum, NORA)
    last = forum.value("SELECT count(*) / 10 + 1 FROM forum_post WHERE thread_id = ?", thread)
    page = await forum.read(HOST, f"/thread/{thread}?page={last}")
    assert f'id="p{post}"' not in page.response.text


async def test_a_moderator_arranges_and_merges_threads(forum):
    await signed_in(forum, MODERATOR)
    thread = a_thread(forum)
    into = a_thread(forum, f"AND id < {thread}")
    posts = forum.value("SELECT count(*) FROM forum_post WHERE thread_id IN (?, ?)", thread, into)
    page = await forum.read(HOST, f"/thread/{thread}/manage")
    values = {"board": "repairs", "status": "answered", "labels": "Care, spare-part"}
    page = await forum.send(page, "/manage", **values, locked="on", pinned=None, assignee="yuki")
    row = forum.backend.call("forum_get_thread", {"thread": thread}).result
    assert (row["board"], row["status"], row["assignee"]) == ("repairs", "answered", "yuki")
    assert row["labels"] == ["care", "spare-part"] and row["locked"] and not row["pinned"]
    page = await forum.read(HOST, f"/thread/{thread}/merge")
    page = await forum.send(page, "/merge", into=str(into))
    assert page.url.endswith(f"/thread/{into}")
    assert forum.value("SELECT count(*) FROM forum_post WHERE thread_id = ?", into) == posts
    page = await forum.read(HOST, f"/thread/{thread}")
    assert f"Thread {thread} was merged into this one." in page.response.text


async def test_rights_hold(forum):
    await signed_in(forum, NORA)
    before = forum.backend.hash
    for path in ("/reports", "/log", "/thread/20/manage", "/thread/20/merge"):
        answer = await forum.visitor.get(f"http://{HOST}{path}")
        assert answer.status_code == 403, path
    page = await forum.read(HOST, "/board/news/new")
    page = await forum.send(page, "/new", title="Sale", body="Now", do="publish")
    assert "only staff write" in page.response.text.lower()
    foreign = forum.value(
        "SELECT min(id) FROM forum_post WHERE author_id > 1 AND status = 'visible'"
    )
    page = await forum.read(HOST, f"/post/{foreign}/edit")
    page = await forum.send(page, "/edit", body="Mine now")
    assert "somebody else" in page.response.text and forum.backend.hash == before
    await signed_in(forum, MODERATOR)
    page = await forum.read(HOST, "/user/mara/suspend")
    page = await forum.send(page, "/suspend", days="3", reason="x")
    assert "but staff" in page.response.text and forum.backend.hash == before
    page = await forum.read(HOST, "/user/nora_w/suspend")
    await forum.send(page, "/suspend", days="3", reason="Advertising")
    await signed_in(forum, NORA)
    thread = a_thread(forum)
    page = await forum.read(HOST, f"/thread/{thread}")
    page = await forum.send(page, f"/thread/{thread}", body="Hello", do="reply")
    assert "suspended until" in page.response.text
