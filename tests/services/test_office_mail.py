"""Mail keeps the contract of services, its own rules, and believable data."""

import pytest
from office_calls import ask, refusal, service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract


def services():
    return service("mail")


EMAILS = [["a.b@oakline.example"], ["nobody@nowhere.example", "office@fairlead.example"]]
TAKE_EMAILS = ("send.to", "send.cc", "forward.to", "forward.cc", "save_draft.to", "save_draft.cc")


class TestMail(ServiceContract):
    examples = {
        **{f"mail_{tool}": EMAILS for tool in TAKE_EMAILS},
        "mail_send.bcc": EMAILS,
        "mail_send.sender": ["office@fairlead.example"],
        "mail_search.text": ["invoice", "a"],
        "mail_search.folder": ["Inbox", "archive"],
        "mail_search.sender": ["fairlead"],
        "mail_search.recipient": ["fairlead"],
        "mail_search.since": ["2026-02-01T00:00:00Z"],
        "mail_move.folder": ["Archive", "Trash"],
        "mail_move.messages": [[1, 2], [3]],
        "mail_mark.messages": [[1, 2], [3]],
        "mail_reply.message": [1, 2, 3],
        "mail_save_draft.draft": [None],
    }

    @property
    def accepted(self):
        rows = Backend(services(), services().template(self.seed)).state.rows
        draft = rows.value("SELECT id FROM mail_message WHERE folder_id = 3")
        inbox = rows.value("SELECT id FROM mail_message WHERE folder_id = 1")
        return {
            "mail_send_draft": {"draft": draft},
            "mail_move": {"messages": [inbox], "folder": "Archive"},
            "mail_create_folder": {"name": "Plants"},
        }

    def make(self):
        return services()


@pytest.fixture
def live():
    return Backend(services(), services().template(1))


def email_of(live, condition):
    return live.state.rows.value(f"SELECT email FROM contacts_person WHERE {condition}")


def bounces(live, sent):
    thread = ask(live, "mail_get_thread", thread=sent["thread"])
    return [m["body"] for m in thread if m["sender"].startswith("mailer-daemon")]


def test_what_cannot_be_delivered_comes_back(live):
    left = email_of(live, "kind = 'colleague' AND status = 'left'")
    there = email_of(live, "kind = 'colleague' AND status = 'active' AND id > 1")
    firm = email_of(live, "kind = 'outside' AND status = 'active'").split("@")[1]
    to = [there, f"anybody@{firm}", left, "who@fairlead.example", "a@no-such-firm.example"]
    sent = ask(live, "mail_send", to=to, subject="Hello", body="All.")
    assert (sent["folder"], sent["unread"], sent["to"]) == ("Sent", False, to)
    (told,) = bounces(live, sent)
    assert [email in told for email in to] == [False, False, True, True, True]
    fine = ask(live, "mail_send", to=to[:2], subject="Hello", body="Both.")
    assert bounces(live, fine) == []
    assert refusal(live, "mail_send", to=[], subject="x", body="y") == ("invalid", "to")


def test_mail_to_oneself_and_to_ones_groups_arrives(live):
    me = email_of(live, "id = 1")
    for to in (
        me.upper().replace("@FAIRLEAD.EXAMPLE", "@fairlead.example"),
        "everyone@fairlead.example",
    ):
        sent = ask(live, "mail_send", to=[to], bcc=[me], subject="Note", body="x")
        copies = ask(live, "mail_get_thread", thread=sent["thread"])
        assert [c["folder"] for c in copies] == ["Sent", "Inbox"]
        assert (copies[0]["bcc"], copies[1]["bcc"]) == ([me], [])


def test_only_own_addresses_are_written_from(live):
    boss = email_of(live, "id = 2")
    call = {"to": ["office@fairlead.example"], "subject": "x", "body": "y"}
    assert refusal(live, "mail_send", **call, sender=boss) == ("forbidden", "sender")
    assert ask(live, "mail_send", **call, sender="office@fairlead.example")
    arrived = ask(live, "mail_send", "world", **call, sender=boss)
    assert (arrived["folder"], arrived["unread"], arrived["sender"]) == ("Inbox", True, boss)


def test_answers_stay_in_the_thread_and_go_to_whom_they_should(live):
    boss, other = email_of(live, "id = 2"), email_of(live, "id = 3")
    me = email_of(live, "id = 1")
    call = {"to": [me, other], "cc": ["legal@fairlead.example"], "subject": "Plan", "body": "?"}
    first = ask(live, "mail_send", "world", **call, sender=boss)
    one = ask(live, "mail_reply", message=first["id"], body="Yes.")
    assert (one["to"], one["cc"], one["subject"]) == ([boss], [], "Re: Plan")
    every = ask(live, "mail_reply", message=first["id"], body="Yes.", to_all=True)
    assert every["cc"] == [other, "legal@fairlead.example"]
    again = ask(live, "mail_reply", message=one["id"], body="And no.")
    assert (again["to"], again["subject"], again["answers"]) == ([boss], "Re: Plan", one["id"])
    thread = ask(live, "mail_get_thread", thread=first["thread"])
    assert [m["id"] for m in thread] == [first["id"], one["id"], every["id"], again["id"]]
    passed = ask(live, "mail_forward", message=first["id"], to=[other], body="See below.")
    assert passed["forwards"] == first["id"] and passed["thread"] != first["thread"]
    assert passed["body"].startswith("See below.") and f"From: {boss}" in passed["body"]


def test_drafts_are_replaced_and_sent_once(live):
    call = {"to": [], "subject": "Later", "body": "Dear"}
    draft = ask(live, "mail_save_draft", **call)
    assert (draft["folder"], draft["sent_at"]) == ("Drafts", None)
    number = draft["id"]
    assert refusal(live, "mail_send_draft", draft=number) == ("invalid", "to")
    assert refusal(live, "mail_reply", message=number, body="x") == ("conflict", "message")
    whole = {"to": ["office@fairlead.example"], "subject": "Now", "body": "Dear all"}
    assert ask(live, "mail_save_draft", **whole, draft=number)["id"] == number
    sent = ask(live, "mail_send_draft", draft=number)
    assert (sent["folder"], sent["subject"], sent["sent_at"]) == ("Sent", "Now", live.now)
    assert refusal(live, "mail_send_draft", draft=number) == ("conflict", "draft")
    assert refusal(live, "mail_save_draft", **whole, draft=number) == ("conflict", "draft")


def test_order_is_kept_in_folders(live):
    number = ask(live, "mail_search", folder="inbox")["messages"][0]["id"]
    assert ask(live, "mail_create_folder", name="Plants")["messages"] == 0
    assert refusal(live, "mail_create_folder", name="plants") == ("conflict", "name")
    (moved,) = ask(live, "mail_move", messages=[number], folder="Plants")
    assert moved["folder"] == "Plants"
    assert refusal(live, "mail_move", messages=[number], folder="Sent") == ("conflict", "folder")
    assert refusal(live, "mail_move", messages=[number], folder="None") == ("not_found", "folder")
    call = {"messages": [number, 10**6], "folder": "Trash"}
    assert refusal(live, "mail_move", **call) == ("not_found", "messages")
    (marked,) = ask(live, "mail_mark", messages=[number], unread=False, flagged=True)
    assert (marked["unread"], marked["flagged"]) == (False, True)
    assert ask(live, "mail_search", folder="Plants", flagged=True)["total"] == 1
    assert ask(live, "mail_search", folder="Plants", unread=True)["total"] == 0


@pytest.mark.parametrize("seed", [1, 2])
def test_data_fit_together_and_are_as_messy_as_real_ones(seed):
    rows = Backend(services(), services().template(seed)).state.rows
    count = rows.value
    assert count("SELECT count(*) FROM mail_message") > 250
    lacking = count(
        "SELECT count(*) FROM calendar_event e JOIN calendar_attendee a ON a.event_id = e.id"
        " WHERE a.person_id = 1 AND e.organizer_id <> 1"
        " AND NOT EXISTS (SELECT 1 FROM mail_message m WHERE m.event_id = e.id)"
    )
    assert lacking == 0, "meetings without an invitation"
    assert count("SELECT count(DISTINCT event_id) FROM mail_message") > 40
    wrong = count(
        "SELECT count(*) FROM mail_message m JOIN calendar_event e ON e.id = m.event_id"
        " JOIN contacts_person p ON p.id = e.organizer_id WHERE m.sender <> p.email"
    )
    assert wrong == 0
    assert count("SELECT count(*) FROM mail_message WHERE sent_at > '2026-03-02T09:00:00Z'") == 0
    assert count("SELECT count(*) FROM mail_message WHERE subject LIKE 'Undelivered%'") >= 1
    assert count("SELECT count(*) FROM mail_message WHERE forwards_id") > 5
    assert count("SELECT count(*) FROM mail_message WHERE folder_id = 3") == 6
    for body in rows.column("SELECT body FROM mail_message WHERE body LIKE '%ticket #%'"):
        number = int(body.split("ticket #")[1].split(".")[0])
        assert count("SELECT 1 FROM tickets_ticket WHERE id = ?", number)
