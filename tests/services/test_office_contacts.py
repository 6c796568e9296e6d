"""The contacts service keeps the contract of services, its own rules, and believable data."""

import re
from collections import Counter

import office_calls
import pytest
from office_calls import service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract


def services():
    return service("contacts")


class TestContacts(ServiceContract):
    examples = {
        "contacts_search.text": ["an", "fairlead", "engineer"],
        "contacts_search.kind": ["colleague", "outside"],
        "contacts_list_groups.text": ["e", "office"],
        "contacts_merge.person": [70, 75, 80, 90],
        "contacts_merge.into": [100, 105, 110],
        "contacts_create.email": ["new.one@oakline.example", "x@y.example"],
        "contacts_create.timezone": ["UTC"],
        "contacts_update.email": ["another@oakline.example"],
        "contacts_change_group.group": [16, 17],
        "contacts_change_group.add": [[4, 5], [100]],
        "contacts_create_group.members": [[1, 2], [100, 5]],
        "contacts_create_group.name": ["Reading circle", "Choir"],
    }

    accepted = {
        "contacts_delete": {"person": 100},
        "contacts_update": {"person": 100, "note": "Called."},
        "contacts_create": {"name": "A B", "email": "a@b.example", "company": "B"},
    }

    def make(self):
        return services()


@pytest.fixture
def book():
    return Backend(services(), services().template(1))


def ask(book, tool, **arguments):
    return office_calls.ask(book, f"contacts_{tool}", **arguments)


def refusal(book, tool, **arguments):
    return office_calls.refusal(book, f"contacts_{tool}", **arguments)


def new(book, email="pat@oakline.example", **more):
    return ask(book, "create", name="Pat Doe", email=email, company="Oakline Furniture", **more)


def test_colleagues_are_the_staff_directorys(book):
    me = ask(book, "whoami")
    assert (me["id"], me["kind"], me["status"]) == (1, "colleague", "active")
    assert refusal(book, "update", person=1, role="Queen") == ("forbidden", "role")
    assert ask(book, "update", person=1, note="Tea, no milk.")["note"] == "Tea, no milk."
    assert refusal(book, "delete", person=5) == ("forbidden", "person")
    assert refusal(book, "merge", person=new(book)["id"], into=5) == ("forbidden", "into")


def test_an_address_is_of_one_person(book):
    pat = new(book)
    again = {"name": "X", "company": "Y"}
    assert refusal(book, "create", email="PAT@oakline.example", **again) == ("conflict", "email")
    everyone = next(g for g in ask(book, "list_groups") if g["name"] == "Everyone")
    assert refusal(book, "create", email=everyone["email"], **again) == ("conflict", "email")
    moved = ask(book, "update", person=pat["id"], email="doe@oakline.example")
    assert moved["aliases"] == ["pat@oakline.example"]
    assert ask(book, "find_address", email="pat@oakline.example")["id"] == pat["id"]
    back = ask(book, "update", person=pat["id"], email="pat@oakline.example")
    assert back["aliases"] == ["doe@oakline.example"]
    assert refusal(book, "find_address", email="who@oakline.example") == ("not_found", "email")


def test_a_merged_entry_leads_to_the_one_that_stays(book):
    stays, twin = new(book), new(book, "p.doe@oakline.example", phone="+1 555 1", note="Old.")
    group = ask(book, "create_group", name="Chess club", members=[twin["id"], 4])
    assert group["email"] == "chess-club@fairlead.example"
    merged = ask(book, "merge", person=twin["id"], into=stays["id"])
    assert (merged["phone"], merged["note"]) == ("+1 555 1", "Old.")
    assert (merged["aliases"], merged["groups"]) == (["p.doe@oakline.example"], ["Chess club"])
    error = book.call("contacts_get", {"person": twin["id"]}).error
    assert error.code == "not_found" and str(stays["id"]) in error.message
    found = ask(book, "search", text="p.doe@oakline")
    assert [person["id"] for person in found["people"]] == [stays["id"]]
    assert refusal(book, "merge", person=stays["id"], into=stays["id"]) == ("invalid", "into")


def test_capitals_do_not_make_another_address(book):
    one = ask(book, "create", name="Ada Quist", email="Ada.Quist@x.example", company="X")
    assert one["email"] == "ada.quist@x.example"
    ask(book, "update", person=one["id"], email="a@x.example")
    again = ask(book, "update", person=one["id"], email="ADA.quist@x.example")
    assert (again["email"], again["aliases"]) == ("ada.quist@x.example", ["a@x.example"])


def test_who_is_deleted_is_gone_and_the_address_is_free(book):
    number = new(book)["id"]
    ask(book, "create_group", name="Chess club", members=[number])
    ask(book, "delete", person=number)
    assert refusal(book, "get", person=number) == ("not_found", "person")
    assert ask(book, "list_groups", text="chess")[0]["size"] == 0
    assert new(book)["id"] != number


def test_groups_of_the_directory_stay(book):
    groups = {group["name"]: group for group in ask(book, "list_groups")}
    mine, managed = groups["First aiders"]["id"], groups["Engineering"]["id"]
    assert refusal(book, "change_group", group=managed, add=[1])[0] == "forbidden"
    changed = ask(book, "change_group", group=mine, add=[2, 3, 2], remove=[1, 9999])
    members = {person["id"] for person in changed["members"]}
    assert {2, 3} <= members and 1 not in members
    assert refusal(book, "change_group", group=mine, add=[9999]) == ("not_found", "add")
    taken = {"name": "First Aid", "members": []}
    assert refusal(book, "create_group", **taken) == ("conflict", "name")
    assert refusal(book, "create_group", name="日本", members=[]) == ("invalid", "name")


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_data_fit_together_and_are_as_messy_as_real_ones(seed):
    rows = Backend(services(), services().template(seed)).state.rows
    people = rows.all("SELECT * FROM contacts_person")
    staff = [p for p in people if p["kind"] == "colleague"]
    assert len(staff) == 60 and 95 <= len(people) - len(staff) <= 110
    emails = [p["email"] for p in people] + rows.column("SELECT email FROM contacts_alias")
    assert len(set(emails)) == len(emails)
    assert all(re.fullmatch(r"[a-z0-9.'-]+@[a-z-]+\.example", email) for email in emails)
    assert all(
        p["email"].endswith("@fairlead.example") == (p["kind"] == "colleague") for p in people
    )
    for agent in rows.all("SELECT * FROM tickets_agent"):
        (same,) = [p for p in staff if p["handle"] == agent["id"]]
        assert same["name"] == agent["name"]
        assert (same["status"] == "active") == bool(agent["active"])
    customers = {row["id"]: row for row in rows.all("SELECT * FROM tickets_customer")}
    known = [p for p in people if p["customer_id"]]
    assert len(known) > 60
    for person in known:
        customer = customers[person["customer_id"]]
        same = ("name", "email", "phone", "company")
        assert [person[key] for key in same] == [customer[key] for key in same]
    outside = [p for p in people if p["kind"] == "outside"]
    phones = Counter(re.sub(r"\D", "", p["phone"]) for p in outside if p["phone"])
    assert sum(count > 1 for count in phones.values()) >= 8, "people entered twice"
    assert {p["name"] for p in outside} & {p["name"] for p in staff}, "a namesake outside"
    assert sum(p["status"] == "left" for p in staff) == 5
    gone = rows.value(
        "SELECT count(*) FROM contacts_member m JOIN contacts_person p ON p.id = m.person_id"
        " JOIN contacts_group g ON g.id = m.group_id WHERE p.status = 'left' AND p.kind ="
        " 'colleague' AND g.managed"
    )
    assert gone == 0


def test_another_seed_makes_other_people():
    assert services().template(1).hash != services().template(2).hash
