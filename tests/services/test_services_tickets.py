"""The tickets service keeps the contract of services, its own rules, and believable data."""

import re
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from agentgym.services import Backend, load_services
from agentgym.testing.service_contract import ServiceContract

FOLDER = Path(__file__).parents[2] / "envs/office/services/tickets"


class TestTickets(ServiceContract):
    examples = {
        "tickets_search.text": ["invoice", "barcode", "sign-in"],
        "tickets_list_customers.text": ["an", "bluewater"],
    }

    @property
    def accepted(self):
        """A merge needs two tickets of one company that are not done, which chance seldom finds."""
        services = self.make()
        rows = Backend(services, services.template(self.seed)).state.rows
        pair = rows.one(
            "SELECT a.id AS ticket, b.id AS into_id"
            " FROM tickets_ticket a JOIN tickets_customer c ON c.id = a.customer_id"
            " JOIN tickets_ticket b JOIN tickets_customer d ON d.id = b.customer_id"
            " WHERE c.company = d.company AND a.id <> b.id"
            " AND a.status <> 'closed' AND b.status <> 'closed'"
        )
        return {"tickets_merge": {"ticket": pair["ticket"], "into": pair["into_id"]}}

    def make(self):
        return load_services(FOLDER)


HOURS = {("basic", "urgent"): 24, ("business", "high"): 24, ("enterprise", "urgent"): 2}


@pytest.fixture
def desk():
    services = load_services(FOLDER)
    return Backend(services, services.template(1))


def ask(desk, tool, **arguments):
    reply = desk.call(f"tickets_{tool}", arguments)
    assert reply.error is None, reply.error
    return reply.result


def refusal(desk, tool, **arguments):
    before = desk.hash
    error = desk.call(f"tickets_{tool}", arguments).error
    assert desk.hash == before
    return error.code, error.field


def new(desk, customer=1, **more):
    told = {"subject": "It squeaks", "body": "Loudly.", "product": "Parcelhub"}
    return ask(desk, "create", customer=customer, **told, **more)


def test_a_closed_ticket_is_reopened_before_it_is_worked_on(desk):
    number = new(desk)["id"]
    closed = ask(desk, "close", ticket=number, resolution="Oiled.")
    assert (closed["status"], closed["resolution"]) == ("closed", "Oiled.")
    assert refusal(desk, "comment", ticket=number, body="Still") == ("conflict", "ticket")
    assert refusal(desk, "close", ticket=number, resolution="x") == ("conflict", "ticket")
    again = ask(desk, "reopen", ticket=number, reason="It squeaks again.")
    assert (again["status"], again["resolution"]) == ("open", None)
    assert again["comments"][-1]["internal"] and again["comments"][-1]["author"] == "agent"
    ask(desk, "comment", ticket=number, body="Oiled again.")
    assert refusal(desk, "reopen", ticket=number, reason="x") == ("conflict", "ticket")


def test_a_stale_version_is_refused(desk):
    ticket = new(desk)
    changed = ask(desk, "update", ticket=ticket["id"], version=ticket["version"], priority="high")
    assert changed["version"] == ticket["version"] + 1
    stale = {"ticket": ticket["id"], "version": ticket["version"]}
    assert refusal(desk, "update", **stale, priority="low") == ("conflict", "version")
    assert refusal(desk, "assign", **stale, agent="bo") == ("conflict", "version")
    assert refusal(desk, "close", **stale, resolution="x") == ("conflict", "version")
    same = ask(desk, "update", ticket=ticket["id"], priority="high")
    assert same["version"] == changed["version"]


def test_merging_moves_comments_and_tags_and_ends_the_duplicate(desk):
    first, second = new(desk), new(desk)
    ask(desk, "comment", ticket=second["id"], body="Same here.")
    ask(desk, "tag", ticket=first["id"], add=["noise", "old"])
    ask(desk, "tag", ticket=second["id"], add=["noise", "door"])
    merged = ask(desk, "merge", ticket=second["id"], into=first["id"])
    assert [comment["body"] for comment in merged["comments"]] == ["Same here."]
    assert merged["tags"] == ["door", "noise", "old"]
    gone = ask(desk, "get", ticket=second["id"])
    assert (gone["status"], gone["merged_into"]) == ("merged", first["id"])
    assert gone["comments"] == gone["tags"] == []
    assert gone["links"] == [{"ticket": first["id"], "kind": "duplicates"}]
    assert refusal(desk, "comment", ticket=second["id"], body="x") == ("conflict", "ticket")
    assert refusal(desk, "merge", ticket=first["id"], into=first["id"]) == ("invalid", "into")


def test_what_one_company_wrote_does_not_reach_another(desk):
    companies = {}
    for row in ask(desk, "list_customers", limit=100):
        companies.setdefault(row["company"], row["id"])
    one, other = list(companies.values())[:2]
    pair = new(desk, one)["id"], new(desk, other)["id"]
    assert refusal(desk, "merge", ticket=pair[0], into=pair[1]) == ("forbidden", "into")


def test_what_blocks_is_closed_first(desk):
    cause, effect = new(desk)["id"], new(desk)["id"]
    ask(desk, "link", ticket=cause, other=effect, kind="blocks")
    assert refusal(desk, "close", ticket=effect, resolution="x") == ("conflict", None)
    ask(desk, "close", ticket=cause, resolution="Done.")
    assert ask(desk, "close", ticket=effect, resolution="Done.")["status"] == "closed"
    assert refusal(desk, "link", ticket=new(desk)["id"], other=10**6) == ("not_found", "other")


@pytest.mark.parametrize(("plan", "priority"), HOURS)
def test_the_due_time_follows_plan_and_priority(desk, plan, priority):
    sql = "SELECT id FROM tickets_customer WHERE plan = ?"
    ticket = new(desk, desk.state.rows.value(sql, plan), priority=priority)
    due = datetime(2026, 3, 2, 9) + timedelta(hours=HOURS[plan, priority])
    assert ticket["due_at"] == due.isoformat() + "Z" and not ticket["overdue"]
    desk.now = "2026-03-20T09:00:00Z"
    assert ask(desk, "get", ticket=ticket["id"])["overdue"]
    later = ask(desk, "update", ticket=ticket["id"], priority="low")
    assert later["due_at"] > ticket["due_at"] and later["created_at"] == ticket["created_at"]


def test_tickets_go_to_who_is_there(desk):
    number = new(desk)["id"]
    assert ask(desk, "assign", ticket=number, agent="bo")["assignee"] == "bo"
    assert ask(desk, "assign", ticket=number, agent=None)["assignee"] is None
    assert refusal(desk, "assign", ticket=number, agent="nobody") == ("not_found", "agent")
    assert refusal(desk, "assign", ticket=number, agent="ines") == ("conflict", "agent")
    assert not [a for a in ask(desk, "list_agents") if a["id"] == "ines"][0]["active"]


def test_searching_narrows_and_pages(desk):
    every = ask(desk, "search", limit=100)
    assert every["total"] > 400 and len(every["tickets"]) == 100
    assert ask(desk, "search", limit=100, offset=100)["tickets"][0] not in every["tickets"]
    found = ask(desk, "search", text="BARCODE labels", status="open", limit=100)
    assert 0 < found["total"] == len(found["tickets"]) < every["total"]
    assert {ticket["status"] for ticket in found["tickets"]} == {"open"}
    late = ask(desk, "search", overdue=True, limit=100)["tickets"]
    assert late and all(t["due_at"] < desk.now and t["status"] != "closed" for t in late)
    assert ask(desk, "search", text="100%_no such thing")["total"] == 0


def test_who_writes_is_who_calls(desk):
    number = new(desk)["id"]
    comment = {"ticket": number, "body": "Hello?"}
    assert desk.call("tickets_comment", comment, "user").result["author"] == "user"


def test_data_fit_together_and_are_as_messy_as_real_ones(desk):
    rows = desk.state.rows
    assert rows.value("SELECT count(*) FROM tickets_ticket") == 436
    customers = rows.all("SELECT * FROM tickets_customer")
    domains = {}
    for row in customers:
        assert re.fullmatch(r"[a-z.'-]+@[a-z-]+\.example", row["email"]), row
        domains.setdefault(row["email"].split("@")[1], set()).add(row["plan"])
    assert all(len(plans) == 1 for plans in domains.values()), "one company, one plan"
    twice = Counter(re.sub(r"\D", "", row["phone"]) for row in customers)
    assert sum(count > 1 for count in twice.values()) >= 3, "people entered twice"
    assert rows.value("SELECT count(*) FROM tickets_ticket WHERE created_at >= ?", desk.now) == 0
    assert rows.value("SELECT count(*) FROM tickets_comment WHERE created_at >= ?", desk.now) == 0
    again = rows.value(
        "SELECT count(*) FROM tickets_ticket a JOIN tickets_ticket b ON a.body LIKE '%' ||"
        " substr(b.body, instr(b.body, char(10)) + 2, 40) || '%' AND a.id < b.id"
        " AND a.product = b.product"
    )
    assert again > 5, "matters reported twice"
    stale = rows.value(
        "SELECT count(*) FROM tickets_ticket WHERE status IN ('open', 'pending')"
        " AND updated_at < '2026-01-15'"
    )
    assert stale >= 3, "tickets that nobody has touched for months"
    assert rows.value("SELECT count(*) FROM tickets_ticket WHERE subject = lower(subject)") > 5
    assert rows.value("SELECT count(DISTINCT status) FROM tickets_ticket") == 3


def test_another_seed_makes_other_people():
    services = load_services(FOLDER)
    assert services.template(1).hash != services.template(2).hash
