"""The knowledge service keeps the contract of services, its own rules, and believable data."""

import pytest
from office_calls import service

from agentgym.services import Backend
from agentgym.testing.service_contract import ServiceContract

OWNER = "office@fairlead.example"  # another address of number 1
DAYS = ["2026-09-30", "2027-01-15"]


def services():
    return service("knowledge")


class TestKnowledge(ServiceContract):
    @property
    def examples(self):
        rows = Backend(services(), services().template(self.seed)).state.rows
        return {
            "knowledge_search.text": ["leave", "days ahead", "export"],
            "knowledge_search.status": ["published", None],
            "knowledge_unarchive.article": rows.column(
                "SELECT id FROM knowledge_article WHERE status = 'archived'"
            ),
            "knowledge_publish.article": rows.column(
                "SELECT id FROM knowledge_article WHERE status = 'draft'"
            ),
            "knowledge_read_version.version": [1, 2],
            **{f"knowledge_{tool}.seen_version": [1, 2] for tool in ("edit", "publish")},
            **{f"knowledge_{tool}.review_on": DAYS for tool in ("create", "set_details")},
            "knowledge_confirm_review.next_review_on": DAYS,
            **{f"knowledge_{tool}.owner": [OWNER] for tool in ("create", "set_details", "search")},
            **{f"knowledge_{tool}.category": ["hr", "it"] for tool in ("create", "set_details")},
        }

    def make(self):
        return services()


@pytest.fixture
def base():
    return Backend(services(), services().template(1))


def ask(base, tool, **arguments):
    reply = base.call(f"knowledge_{tool}", arguments)
    assert reply.error is None, reply.error
    return reply.result


def refusal(base, tool, **arguments):
    before = base.hash
    error = base.call(f"knowledge_{tool}", arguments).error
    assert base.hash == before
    return error.code, error.field


NEW = {
    "title": "Dogs in the office",
    "body": "Dogs are welcome on Fridays.",
    "category": "office",
    "owner": OWNER,
    "review_on": "2026-09-30",
}


def test_readers_see_the_published_version_until_the_next_is(base):
    number = ask(base, "create", **NEW)["id"]
    assert refusal(base, "read_version", article=number) == ("conflict", "article")
    assert ask(base, "search", text="dogs")["total"] == 0
    ask(base, "publish", article=number)
    edited = ask(base, "edit", article=number, body="No dogs.", seen_version=1, note="new rule")
    assert (edited["version"], edited["published_version"]) == (2, 1)
    assert ask(base, "read_version", article=number)["body"] == NEW["body"]
    stale = {"article": number, "seen_version": 1}
    assert refusal(base, "publish", **stale) == ("conflict", "seen_version")
    assert refusal(base, "edit", **stale, body="x") == ("conflict", "seen_version")
    ask(base, "publish", article=number, seen_version=2)
    assert ask(base, "read_version", article=number)["body"] == "No dogs."
    assert refusal(base, "publish", article=number) == ("conflict", "article")


def test_titles_come_before_bodies_and_every_word_counts(base):
    first = ask(base, "create", **{**NEW, "title": "Cats", "body": "zebra zebra"})["id"]
    second = ask(base, "create", **{**NEW, "title": "Zebra", "body": "stripes"})["id"]
    found = ask(base, "search", text="ZEBRA", status=None)
    assert [hit["id"] for hit in found["articles"]] == [second, first]
    assert found["articles"][1]["snippet"] == "zebra zebra"
    both = ask(base, "search", text="zebra cats", status=None)
    assert [hit["id"] for hit in both["articles"]] == [first]


def test_an_archived_article_says_what_holds_instead_and_is_not_changed(base):
    old, new = (ask(base, "create", **NEW)["id"] for _ in range(2))
    told = {"article": old, "replaced_by": new}
    assert refusal(base, "archive", **told) == ("conflict", "replaced_by")
    ask(base, "publish", article=new)
    assert ask(base, "archive", **told)["replaced_by"] == new
    assert refusal(base, "edit", article=old, body="x") == ("conflict", "article")
    assert refusal(base, "unarchive", article=new) == ("conflict", "article")
    again = ask(base, "unarchive", article=old)
    assert (again["status"], again["replaced_by"]) == ("draft", None)
    ask(base, "archive", article=new)
    assert ask(base, "unarchive", article=new)["published_version"] is None


def test_owners_are_there_and_reviews_lie_ahead(base):
    gone = base.state.rows.value("SELECT email FROM contacts_person WHERE status = 'left'")
    assert refusal(base, "create", **{**NEW, "owner": gone}) == ("conflict", "owner")
    outside = base.state.rows.value("SELECT email FROM contacts_person WHERE kind = 'outside'")
    assert refusal(base, "create", **{**NEW, "owner": outside}) == ("not_found", "owner")
    main = base.state.rows.value("SELECT email FROM contacts_person WHERE id = 1")
    assert ask(base, "create", **NEW)["owner"] == main
    assert refusal(base, "create", **{**NEW, "owner": "x"}) == ("not_found", "owner")
    assert refusal(base, "create", **{**NEW, "category": "x"}) == ("not_found", "category")
    past = {**NEW, "review_on": base.now[:10]}
    assert refusal(base, "create", **past) == ("invalid", "review_on")
    late = ask(base, "search", review_overdue=True, limit=100)
    assert late["total"] > 20 and all(a["review_overdue"] for a in late["articles"])
    number = late["articles"][0]["id"]
    fresh = ask(base, "confirm_review", article=number, next_review_on="2027-01-01")
    assert not fresh["review_overdue"]
    assert ask(base, "search", review_overdue=True)["total"] == late["total"] - 1


def test_details_are_set_without_a_new_version(base):
    number = ask(base, "create", **NEW, tags=["dogs", "pets"])["id"]
    changed = ask(base, "set_details", article=number, category="hr", tags=["pets", "hr"])
    assert (changed["category"], changed["tags"], changed["version"]) == ("hr", ["hr", "pets"], 1)


def test_data_fit_together_and_are_as_messy_as_real_ones(base):
    rows = base.state.rows
    assert rows.value("SELECT count(*) FROM knowledge_article") > 120
    assert rows.value("SELECT count(DISTINCT status) FROM knowledge_article") == 3
    twice = (
        "SELECT count(*) FROM knowledge_article a JOIN knowledge_article b"
        " ON instr(b.title, a.title) AND a.id < b.id JOIN knowledge_version v"
        " ON v.article_id = a.id AND v.number = a.version JOIN knowledge_version w"
        " ON w.article_id = b.id AND w.number = b.version WHERE a.status = 'published'"
        " AND b.status = 'published' AND substr(v.body, 1, 80) <> substr(w.body, 1, 80)"
    )
    assert rows.value(twice) > 15, "articles that contradict each other"
    gone = (
        "SELECT count(*) FROM knowledge_article a JOIN contacts_person p ON p.email = a.owner"
        " WHERE p.status = 'left' AND a.status = 'published'"
    )
    assert rows.value(gone) >= 3
    ahead = "SELECT count(*) FROM knowledge_article WHERE version > published_version"
    assert rows.value(ahead) > 3
    late = "SELECT count(*) FROM knowledge_version WHERE saved_at >= ?"
    assert rows.value(late, base.now) == 0
    latest = (
        "SELECT count(*) FROM knowledge_article a WHERE version <>"
        " (SELECT max(number) FROM knowledge_version v WHERE v.article_id = a.id)"
    )
    assert rows.value(latest) == 0


def test_another_seed_makes_other_articles():
    assert services().template(1).hash != services().template(2).hash
