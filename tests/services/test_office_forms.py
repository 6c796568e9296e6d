"""Forms keep the contract of services; what is entered is checked, stored and shown."""

import pytest
from office_calls import ask, refusal, service

from agentgym.services import Backend, Service, ServiceError, ServiceSet
from agentgym.testing.service_contract import ServiceContract

ADDRESSES = [["a.b@oakline.example"], ["clara.kaiser@fairlead.example"]]
REMINDER = [
    {"field": "invoice", "value": "INV-1041"},
    {"field": "amount", "value": 1871.1},
    {"field": "due", "value": "2026-01-14"},
]
PROMISE = [
    {"field": "who", "value": 2},
    {"field": "what", "value": "an answer"},
    {"field": "until", "value": "2026-03-04"},
]
UPDATE = [
    {"field": "product", "value": "Vaultdrive"},
    {"field": "tickets", "value": 2},
    {"field": "size", "value": 100.1},
]


def services():
    return service("forms")


def entries(**values):
    return [{"field": field, "value": value} for field, value in values.items()]


class TestForms(ServiceContract):
    samples = 15
    examples = {
        "forms_search.text": ["invoice", "a"],
        "forms_send_mail.form": ["payment-reminder"],
        "forms_send_mail.to": ADDRESSES,
        "forms_send_mail.cc": ADDRESSES,
        "forms_send_mail.fields": [REMINDER, REMINDER[:2], [*REMINDER, REMINDER[0]]],
        "forms_send_mail.lines": [[], [["x"]]],
        "forms_send_mail.answers": [1, 9_999],
        "forms_comment_ticket.form": ["customer-promise", "answer-by"],
        "forms_comment_ticket.ticket": [430, 9_999],
        "forms_comment_ticket.fields": [PROMISE],
        "forms_comment_ticket.lines": [[]],
        "forms_post_chat.form": ["incident-update"],
        "forms_post_chat.channel": [1, 9_999],
        "forms_post_chat.fields": [UPDATE],
        "forms_post_chat.lines": [[]],
    }
    accepted = {
        "forms_send_mail": {
            "form": "payment-reminder", "to": ["a.b@oakline.example"], "fields": REMINDER,
        },
        "forms_comment_ticket": {"form": "customer-promise", "ticket": 430, "fields": PROMISE},
        "forms_post_chat": {"form": "incident-update", "channel": 1, "fields": UPDATE},
    }  # fmt: skip

    def make(self):
        return services()


@pytest.fixture
def live():
    return Backend(services(), services().template(1))


def values(live):
    return {
        (row["line"], row["field"]): row["value"]
        for row in live.state.rows.all("SELECT * FROM forms_value")
    }


def test_a_mail_has_the_text_of_its_form_and_nothing_else(live):
    clara = live.state.rows.value("SELECT name FROM contacts_person WHERE email = ?",
                                  "clara.kaiser@fairlead.example")  # fmt: skip
    sent = ask(live, "forms_send_mail", form="payment-reminder", fields=REMINDER,
               to=["clara.kaiser@fairlead.example"], cc=["office@fairlead.example"])  # fmt: skip
    assert sent["subject"] == "Reminder: invoice INV-1041"
    assert sent["text"].startswith(f"Dear {clara},\n\nour invoice INV-1041 over EUR 1,871.10 was")
    assert "due on 14 January 2026 and" in sent["text"]
    message = live.state.rows.one("SELECT * FROM mail_message WHERE id = ?", sent["message"])
    assert (message["body"], message["folder_id"]) == (sent["text"], 2)
    assert values(live) == {
        (0, "invoice"): "INV-1041",
        (0, "amount"): 1871.1,
        (0, "due"): "2026-01-14",
    }
    filled = live.state.rows.one("SELECT * FROM forms_filled")
    assert (filled["message_id"], filled["text"]) == (sent["message"], sent["text"])


def test_an_answer_by_form_is_in_the_thread(live):
    message = live.state.rows.one("SELECT * FROM mail_message WHERE folder_id = 1 LIMIT 1")
    sent = ask(live, "forms_send_mail", form="payment-reminder", fields=REMINDER,
               to=[message["sender"]], answers=message["id"])  # fmt: skip
    row = live.state.rows.one("SELECT * FROM mail_message WHERE id = ?", sent["message"])
    assert (row["answers_id"], row["thread"]) == (message["id"], message["thread"])


def test_an_answer_goes_to_somebody_of_the_message_that_it_answers(live):
    message = live.state.rows.one("SELECT * FROM mail_message WHERE folder_id = 1 LIMIT 1")
    got = refusal(live, "forms_send_mail", form="payment-reminder", fields=REMINDER,
                  to=["stranger@oakline.example"], answers=message["id"])  # fmt: skip
    assert got == ("conflict", "answers") and values(live) == {}
    sender = message["sender"].partition("@")
    ask(live, "forms_send_mail", form="payment-reminder", fields=REMINDER,
        to=[f"{sender[0].title()}@{sender[2]}"], answers=message["id"])  # fmt: skip


def test_a_recipient_in_capitals_is_the_same_one(live):
    sent = ask(live, "forms_send_mail", form="payment-reminder", fields=REMINDER,
               to=["Clara.Kaiser@fairlead.example"])  # fmt: skip
    kept = "SELECT email FROM mail_recipient WHERE message_id = ?"
    assert live.state.rows.column(kept, sent["message"]) == ["clara.kaiser@fairlead.example"]


def test_lines_are_read_by_column_and_one_may_be_left_empty(live):
    ask(live, "forms_send_mail", form="meeting-changes", to=["clara.kaiser@fairlead.example"],
        fields=entries(meeting=4),
        lines=[["2026-03-10", "Moved to", "15:00"], ["2026-03-17", "left out"]])  # fmt: skip
    text = live.state.rows.value("SELECT text FROM forms_filled")
    assert "10 March 2026: moved to 15:00\n17 March 2026: left out\n" in text
    assert values(live) == {
        (0, "meeting"): 4,
        (1, "day"): "2026-03-10",
        (1, "what"): "moved to",
        (1, "start"): "15:00",
        (2, "day"): "2026-03-17",
        (2, "what"): "left out",
    }


def test_people_are_named_by_address_number_or_name(live):
    for who in ("katrin.teixeira@fairlead.example", 2, "katrin TEIXEIRA"):
        ask(live, "forms_comment_ticket", form="customer-promise", ticket=430,
            fields=entries(who=who, what="an answer", until="2026-03-04"))  # fmt: skip
    stored = live.state.rows.column("SELECT value FROM forms_value WHERE field = 'who'")
    assert set(stored) == {"katrin.teixeira@fairlead.example"}
    bodies = live.state.rows.column("SELECT body FROM tickets_comment ORDER BY id DESC LIMIT 3")
    assert set(bodies) == {"Katrin Teixeira has promised an answer by 4 March 2026."}
    internal = live.state.rows.column(
        "SELECT internal FROM tickets_comment ORDER BY id DESC LIMIT 3"
    )
    assert set(internal) == {1}


def test_two_people_of_one_name_have_to_be_told_apart(live):
    clara = live.state.rows.value(
        "SELECT name FROM contacts_person WHERE email = 'clara.kaiser@fairlead.example'"
    )
    with live.amend("world", "second Clara") as rows:
        rows.insert("contacts_person", name=clara, email="clara@x.example", company="X",
                    timezone="UTC", kind="outside", status="active", updated_at="x")  # fmt: skip
    error = live.call("forms_comment_ticket", {
        "form": "customer-promise", "ticket": 430,
        "fields": entries(who=clara, what="an answer", until="2026-03-04"),
    }).error  # fmt: skip
    assert error.code == "invalid" and "clara@x.example" in error.message


def test_a_reply_is_for_the_customer_and_a_post_mentions(live):
    ask(live, "forms_comment_ticket", form="answer-by", ticket=430,
        fields=entries(until="2026-03-04"))  # fmt: skip
    last = "SELECT internal FROM tickets_comment ORDER BY id DESC"
    assert live.state.rows.value(last) == 0
    handle = live.state.rows.value("SELECT handle FROM contacts_person WHERE id = 2")
    sent = ask(live, "forms_post_chat", form="first-meeting", channel=1,
               fields=entries(day="2026-03-04", start="14:00", minutes=2))  # fmt: skip
    assert f"@{handle} takes the minutes" in sent["text"]
    mentioned = "SELECT person_id FROM chat_mention WHERE message_id = ?"
    assert live.state.rows.column(mentioned, sent["post"]) == [2]


def test_values_are_read_in_every_usual_spelling(live):
    spelled = {"invoice": "invoice INV-1041", "amount": "1.871,10 €", "due": "14 January 2026"}
    ask(live, "forms_send_mail", form="payment-reminder", to=["a.b@oakline.example"],
        fields=entries(**spelled))  # fmt: skip
    assert values(live) == {(0, one["field"]): one["value"] for one in REMINDER}


def test_times_tickets_and_people_are_read_in_every_usual_spelling(live):
    ask(live, "forms_post_chat", form="first-meeting", channel=1,
        fields=entries(day="Wednesday, 4 March 2026", start="2 pm", minutes=2))  # fmt: skip
    ask(
        live,
        "forms_send_mail",
        form="ticket-handover",
        to=["a.b@oakline.example"],
        fields=entries(leaver="Teixeira, Katrin"),
        lines=[["#430", "Katrin Teixeira"]],
    )
    ask(live, "forms_post_chat", form="incident-update", channel=1,
        fields=entries(product="Vaultdrive", tickets="two", size="100.1 GB"))  # fmt: skip
    stored = live.state.rows.column("SELECT value FROM forms_value ORDER BY filled_id, line, field")
    katrin = "katrin.teixeira@fairlead.example"
    handle = live.state.rows.value("SELECT handle FROM contacts_person WHERE id = 2")
    assert stored == ["2026-03-04", handle, "14:00", katrin, katrin, 430, "Vaultdrive", 100.1, 2]


@pytest.mark.parametrize("ticket", [430.7, "430.7", "430 or 431"])
def test_a_ticket_is_a_whole_number(live, ticket):
    got = refusal(live, "forms_send_mail", form="ticket-handover", to=["a.b@oakline.example"],
                  fields=entries(leaver="Katrin Teixeira"),
                  lines=[[ticket, "Katrin Teixeira"]])  # fmt: skip
    assert got == ("invalid", "lines")


def test_a_word_may_be_a_part_of_a_code(live):
    kept = [entry for entry in REMINDER if entry["field"] != "invoice"]
    ask(live, "forms_send_mail", form="payment-reminder", to=["a.b@oakline.example"],
        fields=[*kept, {"field": "invoice", "value": "Order-7"}])  # fmt: skip
    assert values(live)[0, "invoice"] == "Order-7"


@pytest.mark.parametrize("size", ["100.1 MB", "100.1 or 200", "almost 100.1"])
def test_a_number_has_no_other_unit_or_word(live, size):
    got = refusal(live, "forms_post_chat", form="incident-update", channel=1,
                  fields=entries(product="Vaultdrive", tickets=2, size=size))  # fmt: skip
    assert got == ("invalid", "fields")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("amount", "1.871"),
        ("amount", "USD 1871.10"),
        ("amount", "not 1871.10"),
        ("amount", 18.111),
        ("amount", -1),
        ("amount", 1e300),
        ("due", "2026-02-30"),
        ("due", "3/4/2026"),
        ("due", "14 February"),
        ("due", "Monday, 14 February 2026"),
        ("due", "next week"),
        ("due", 20260214),
        ("invoice", ""),
        ("invoice", "INV-1 is settled"),
        ("invoice", 7),
        ("no_such_field", 1),
    ],
)
def test_what_does_not_fit_a_field_is_refused(live, field, value):
    kept = [entry for entry in REMINDER if entry["field"] != field]
    got = refusal(live, "forms_send_mail", form="payment-reminder", to=["a.b@oakline.example"],
                  fields=[*kept, {"field": field, "value": value}])  # fmt: skip
    assert got == ("invalid", "fields")


@pytest.mark.parametrize(
    "lines",
    [[], [[430]], [[430, 2, 2]], [["430", "nobody at all"]], [[9_999, 2]], [[430, 99_999]]],
)
def test_lines_that_do_not_fit_are_refused(live, lines):
    got = refusal(live, "forms_send_mail", form="ticket-handover", fields=entries(leaver=2),
                  to=["a.b@oakline.example"], lines=lines)  # fmt: skip
    assert got == ("invalid", "lines")


def test_a_form_is_for_one_place(live):
    got = refusal(live, "forms_post_chat", form="payment-reminder", channel=1, fields=REMINDER)
    assert got == ("invalid", "form")
    assert refusal(live, "forms_get", form="no-such-form") == ("not_found", "form")


def test_what_the_place_refuses_leaves_no_form_behind(live):
    closed = live.state.rows.value("SELECT id FROM tickets_ticket WHERE status = 'closed'")
    got = refusal(live, "forms_comment_ticket", form="customer-promise", ticket=closed,
                  fields=PROMISE)  # fmt: skip
    assert got[0] == "conflict" and values(live) == {}


def test_every_form_shows_slots_of_its_own_fields_only(live):
    import re

    for one in ask(live, "forms_search"):
        form = ask(live, "forms_get", form=one["id"])
        fields = {field["name"] for field in [*form["fields"], *form["columns"]]}
        slots = set(re.findall(r"\{(\w+)\}", form["subject"] + form["text"]))
        assert slots - {"to"} == fields, one["id"]


def test_a_service_calls_only_neighbours_that_it_names():
    class Quiet(Service):
        after = ()

    quiet = Backend(ServiceSet({"quiet": Quiet})).instances["quiet"]
    with pytest.raises(ServiceError, match="Quiet.after does not list 'mail'"):
        quiet.neighbour("mail")


def test_the_schema_of_an_argument_stands_by_itself():
    tool = services().functions["forms_send_mail"].spec.parameters
    assert "$ref" not in str(tool) and "$defs" not in tool
    entry = tool["properties"]["fields"]["items"]
    assert entry["additionalProperties"] is False and set(entry["properties"]) == {"field", "value"}
