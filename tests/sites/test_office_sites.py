"""The office in a browser: every page opens, and its forms do what the tools do."""

from __future__ import annotations

import re

import pytest
from pages import Page, World

HOSTS = (
    *("mail", "calendar", "contacts", "tickets", "files", "sheets", "chat", "knowledge"),
    "forms",
)


def make_office(seed="tools/a:1"):
    return World("office", ".office.example", seed)


@pytest.fixture
async def office():
    office = make_office()
    yield office
    await office.close()


@pytest.mark.parametrize("host", HOSTS)
async def test_every_page_opens_and_every_form_takes_nonsense(host):
    office = make_office(f"tools/{host}:5")
    before = office.backend.hash
    seen, forms = await office.crawl(f"http://{host}.office.example/")
    assert len(seen) > 4 and office.backend.hash == before
    await office.send_nonsense(forms.values())
    await office.close()


async def test_mail_is_written_answered_and_put_away(office):
    page = await office.read("mail", "/compose")
    sent = await office.send(
        page, "/compose", to="clara.kaiser@fairlead.example, x@bluewater.example", subject="Plans",
        body="Hello\n\nBye", cc="", bcc="", sender="", do="send",
    )  # fmt: skip
    assert "Message sent." in sent.response.text and "/message/" in sent.url
    (call,) = office.calls("mail_send")
    assert '"to": ["clara.kaiser@fairlead.example", "x@bluewater.example"]' in call.arguments_json
    wrong = await office.send(page, "/compose", to="nobody", subject="", body="", do="send")
    assert wrong.response.status_code == 422 and 'id="to-error"' in wrong.response.text
    number = office.value("SELECT id FROM mail_message WHERE folder_id = 1 AND unread LIMIT 1")
    await office.send(await office.read("mail", f"/message/{number}"), "/messages", do="read")
    assert office.value("SELECT unread FROM mail_message WHERE id = ?", number) == 0
    page = await office.read("mail", f"/message/{number}")
    await office.send(page, "/messages", do="move", folder="Travel")
    folder = "SELECT f.name FROM mail_message m JOIN mail_folder f ON f.id = m.folder_id"
    assert office.value(f"{folder} WHERE m.id = ?", number) == "Travel"
    reply = await office.read("mail", f"/message/{number}/reply")
    await office.send(reply, "/reply", body="I will come.")
    (call,) = office.calls("mail_reply")
    assert '"body": "I will come."' in call.arguments_json and call.code == ""
    page = await office.send(
        await office.read("mail", "/compose"), "/compose", subject="Later", do="draft"
    )
    assert "Draft saved." in page.response.text
    page = await office.send(page, page.url.rsplit("example")[1], to="emil.lam@fairlead.example",
                             do="send")  # fmt: skip
    assert "Message sent." in page.response.text and len(office.calls("mail_send_draft")) == 1


async def test_a_meeting_is_planned_in_berlin_time(office):
    page = await office.read("calendar", "/new")
    made = await office.send(
        page, "/new", title="Plans", day="2026-03-31", until_time="11:30",
        people="clara.kaiser@fairlead.example, 40", room="", repeat="none", **{"from": "10:00"},
    )  # fmt: skip
    assert "Meeting created." in made.response.text
    # Summer time has begun in Berlin.
    (call,) = office.calls("calendar_create")
    assert '"start": "2026-03-31T08:00:00Z"' in call.arguments_json
    assert '"end": "2026-03-31T09:30:00Z"' in call.arguments_json
    number = re.search(r"/event/(\d+)", made.url)[1]
    page = await office.read("calendar", f"/event/{number}/edit")
    await office.send(page, "/edit", until_time="12:00")
    (call,) = office.calls("calendar_update")
    assert call.arguments_json == (
        f'{{"end": "2026-03-31T10:00:00Z", "event": {number}, "version": 1}}'
    )
    stale = await office.send(page, "/edit", title="Other")
    assert stale.response.status_code == 422 and "version" in stale.response.text
    page = await office.read("calendar", f"/event/{number}")
    await office.send(page, "/invite", people="Liam Jensen")
    assert "Nobody is known as Q" in (
        await office.send(page, "/invite", people="Q")
    ).response.text  # fmt: skip
    await office.send(
        await office.read("calendar", f"/event/{number}/cancel"), "/cancel", reason="ill"
    )
    assert office.value("SELECT status FROM calendar_event WHERE id = ?", number) == "cancelled"


async def test_a_ticket_is_worked_on(office):
    number = office.value("SELECT max(id) FROM tickets_ticket WHERE status = 'open'")
    page = await office.read("tickets", f"/ticket/{number}")
    await office.send(page, "/comment", body="On it.", internal="on")
    await office.send(page, "/assign", agent="hiro")
    await office.send(page, f"/ticket/{number}/tag", add="new, late")
    edit = await office.read("tickets", f"/ticket/{number}/edit")
    await office.send(edit, "/edit", priority="urgent")
    shown = office.backend.call("tickets_get", {"ticket": number}).result
    assert shown["assignee"] == "hiro" and shown["priority"] == "urgent"
    assert {"new", "late"} <= set(shown["tags"]) and shown["comments"][-1]["internal"]
    await office.send(await office.read("tickets", f"/ticket/{number}/close"), "/close",
                      resolution="Done.")  # fmt: skip
    assert office.value("SELECT status FROM tickets_ticket WHERE id = ?", number) == "closed"


async def test_people_files_cells_channels_and_articles_change(office):
    page = await office.send(
        await office.read("contacts", "/new"), "/new", name="Zed", email="zed@zed.example",
        company="Zed Ltd",
    )  # fmt: skip
    person = int(page.url.rsplit("/", 1)[1])
    edit = await office.read("contacts", f"/person/{person}/edit")
    await office.send(edit, "/edit", phone="+49 30 1")
    assert office.calls("contacts_update")[-1].arguments_json == (
        f'{{"person": {person}, "phone": "+49 30 1"}}'
    )
    item = office.value(
        "SELECT i.id FROM files_item i JOIN files_share s ON s.item_id = i.id"
        " WHERE i.owner = 'erik.pinto@fairlead.example' AND i.trashed_at IS NULL LIMIT 1"
    )
    shared = office.value("SELECT grantee FROM files_share WHERE item_id = ?", item)
    page = await office.read("files", f"/item/{item}")
    await office.send(page, "/unshare")
    await office.send(page, "/share", grantee="emil.lam@fairlead.example", role="editor")
    rows = office.backend.state.rows.all("SELECT * FROM files_share WHERE item_id = ?", item)
    assert "emil.lam@fairlead.example" in [
        row["grantee"] for row in rows if row["role"] == "editor"
    ]
    assert len(office.calls("files_unshare")) == 1 and shared
    page = await office.send(
        await office.read("sheets", "/new"), "/new", name="Book", sheets="A, B"
    )
    book = int(re.search(r"/book/(\d+)", page.url)[1])
    await office.send(page, "/write", start="B2", rows="1\t2.5\n'007\t=B2+C2")
    (call,) = office.calls("sheets_write_range")
    assert '"rows": [[1, 2.5], ["007", "=B2+C2"]]' in call.arguments_json
    read_back = office.backend.call("sheets_read_range", {"workbook": book, "sheet": "A"}).result
    assert read_back["rows"][-1][-1] == 3.5
    page = await office.read("chat", "/channel/1")
    await office.send(page, "/channel/1", text="Good morning")
    assert office.value("SELECT text FROM chat_message ORDER BY id DESC") == "Good morning"
    page = await office.read("knowledge", "/article/21/edit")
    page = await office.send(page, "/edit", body="New text", note="wording")
    await office.send(page, "/publish")
    published = "SELECT published_version = version FROM knowledge_article WHERE id = 21"
    assert office.value(published) == 1


async def test_the_same_page_varies_by_seed():
    texts = set()
    for seed in range(6):
        office = make_office(f"tools/a:{seed}")
        page = await office.read("mail")
        assert isinstance(page, Page) and len(page.links) > 20
        texts.add(re.sub(r'value="\w{32}"', "", page.response.text))
        await office.close()
    assert len(texts) == 6


async def test_forms_are_filled_in(office):
    page = await office.read("forms", "/form/ticket-handover")
    sent = await office.send(
        page, "/form/ticket-handover", to="amira.haddad@fairlead.example", cc="", answers="",
        lines="430; Farid Nouri\n431 ; greta.sommer@fairlead.example\n\n",
        **{"f-leaver": "Hiro Tanabe"},
    )  # fmt: skip
    assert "Sent." in sent.response.text
    values = "SELECT group_concat(value, ' ') FROM (SELECT value FROM forms_value WHERE line = ?)"
    assert office.value(values, 1) == "430 farid.nouri@fairlead.example"
    assert office.value(values, 2) == "431 greta.sommer@fairlead.example"
    page = await office.read("forms", "/form/customer-promise?ticket=430")
    wrong = await office.send(
        page, "/form/customer-promise",
        **{"f-who": "Nobody at all", "f-what": "an answer", "f-until": "2026-03-04"},
    )  # fmt: skip
    assert wrong.response.status_code == 422 and "in the address book" in wrong.response.text
    await office.send(
        page, "/form/customer-promise",
        **{"f-who": "Katrin Teixeira", "f-what": "an answer", "f-until": "2026-03-04"},
    )  # fmt: skip
    (comment,) = office.backend.state.rows.all(
        "SELECT ticket_id, internal FROM tickets_comment ORDER BY id DESC LIMIT 1"
    )
    assert comment == {"ticket_id": 430, "internal": 1}
    channel = office.value("SELECT channel_id FROM chat_member WHERE person_id = 1")
    page = await office.read("forms", "/form/incident-update")
    await office.send(
        page, "/form/incident-update", channel=str(channel),
        **{"f-product": "Ledgerly", "f-tickets": "2", "f-size": "100.1"},
    )  # fmt: skip
    last = "SELECT text FROM chat_message ORDER BY id DESC"
    assert office.value(last) == "Ledgerly\nTickets: 2\nStuck: 100.1 GB"
