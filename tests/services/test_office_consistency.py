"""The eight services of the office tell of one company: what one names, another has."""

import re
from functools import cache

import pytest
from office_calls import OFFICE

from agentgym.services import Backend, load_services

SEEDS = (1, 2, 3, 17)


@cache
def tables(seed):
    services = load_services(OFFICE)
    return Backend(services, services.template(seed)).state.rows


@pytest.fixture(params=SEEDS)
def rows(request):
    return tables(request.param)


def column(rows, sql, *values):
    return set(rows.column(sql, *values))


@pytest.fixture
def firms(rows):
    return column(rows, "SELECT name FROM contacts_firm WHERE customer")


def text_of_all(rows):
    """Return every text that somebody has written, by where it stands."""
    return {
        "mail": rows.column("SELECT subject || char(10) || body FROM mail_message"),
        "chat": rows.column("SELECT text FROM chat_message"),
        "files": rows.column("SELECT content FROM files_version"),
        "knowledge": rows.column("SELECT body FROM knowledge_version"),
        "calendar": rows.column("SELECT title || char(10) || description FROM calendar_event"),
        "tickets": rows.column("SELECT subject || char(10) || body FROM tickets_ticket"),
    }


def test_colleagues_of_one_company_own_and_write_everything(rows):
    staff = column(rows, "SELECT email FROM contacts_person WHERE kind = 'colleague'")
    assert len(staff) > 55 and all(email.endswith("@fairlead.example") for email in staff)
    for what in (
        "SELECT owner FROM files_item",
        "SELECT author FROM files_version",
        "SELECT granted_by FROM files_share",
        "SELECT owner FROM sheets_workbook",
        "SELECT updated_by FROM sheets_workbook",
        "SELECT owner FROM knowledge_article",
        "SELECT author FROM knowledge_version",
        "SELECT p.email FROM calendar_event e JOIN contacts_person p ON p.id = e.organizer_id",
        "SELECT p.email FROM chat_message m JOIN contacts_person p ON p.id = m.author_id",
        "SELECT p.email FROM chat_member m JOIN contacts_person p ON p.id = m.person_id",
    ):
        assert column(rows, what) <= staff, what
    everybody = column(rows, "SELECT email FROM contacts_address") | {"everyone"}
    assert column(rows, "SELECT grantee FROM files_share") <= everybody
    agents = column(rows, "SELECT id FROM tickets_agent")
    support = "SELECT handle FROM contacts_person WHERE department = 'Support'"
    assert agents == column(rows, support)


def test_mail_comes_from_and_goes_to_people_that_are_known(rows):
    known = column(rows, "SELECT email FROM contacts_address")
    known |= column(rows, "SELECT email FROM contacts_group")
    known |= column(rows, "SELECT email FROM tickets_customer")
    senders = column(rows, "SELECT sender FROM mail_message WHERE folder_id <> 6")
    automatic = re.compile(r"(mailer-daemon|news|status)@")
    assert {s for s in senders - known if not automatic.match(s)} == set()
    assert column(rows, "SELECT email FROM mail_recipient") <= known


def test_customers_of_the_address_book_are_those_of_the_help_desk(rows):
    lost = rows.column(
        "SELECT p.id FROM contacts_person p LEFT JOIN tickets_customer c ON c.id = p.customer_id"
        " WHERE p.customer_id IS NOT NULL AND c.email IS NOT p.email"
    )
    assert lost == []


@pytest.mark.parametrize(
    ("book", "sheet", "letter"),
    [
        ("Customer invoices *", "Invoices", "b"),
        ("Pipeline *", "Pipeline", "a"),
        ("Orders *", "Orders", "b"),
        ("Renewals *", "Contracts", "a"),
        ("Survey *", "Answers", "b"),
    ],
)
def test_customers_in_workbooks_are_in_the_address_book(rows, firms, book, sheet, letter):
    named = column(
        rows,
        f"SELECT {letter} FROM sheets_line WHERE workbook GLOB ? AND sheet = ? AND row > 1"
        f" AND {letter} IS NOT NULL AND a <> 'Total'",
        book,
        sheet,
    )
    assert named and named <= firms


def test_people_and_suppliers_in_workbooks_are_in_the_address_book(rows):
    names = column(rows, "SELECT name FROM contacts_person")
    emails = column(rows, "SELECT email FROM contacts_address")

    def lines(letter, book, sheet):
        return column(
            rows,
            f"SELECT {letter} FROM sheets_line WHERE workbook GLOB ? AND sheet = ? AND row > 1",
            book,
            sheet,
        )

    assert lines("b", "Expenses *", "Receipts") <= names
    assert lines("a", "Headcount", "People") <= names
    assert lines("b", "Headcount", "People") <= emails
    assert lines("c", "Renewals *", "Contracts") <= emails
    assert lines("g", "Renewals *", "Contracts") <= names
    assert lines("d", "Laptops", "Laptops") <= emails
    suppliers = column(rows, "SELECT name FROM contacts_firm WHERE NOT customer")
    assert lines("b", "Supplier payments *", "Invoices") <= suppliers
    departments = column(rows, "SELECT department FROM contacts_person WHERE kind = 'colleague'")
    assert lines("a", "Budget *", "Plan") - {"Total"} == departments
    assert lines("a", "Headcount", "Departments") - {"Print shop"} == departments


def test_products_are_those_that_tickets_are_about(rows):
    products = column(rows, "SELECT DISTINCT product FROM tickets_ticket")
    assert column(rows, "SELECT a FROM sheets_line WHERE sheet = 'Prices' AND row > 1") == products
    about = column(rows, "SELECT title FROM knowledge_article WHERE category = 'product'")
    assert all(any(product in title for product in products) for title in about)
    pitches = column(rows, "SELECT name FROM files_item WHERE name LIKE 'Pitch %.txt'")
    pitched = {re.match(r"Pitch ([A-Za-z]+)", name)[1] for name in pitches}
    assert pitched and pitched <= products


def test_tickets_and_invoices_that_are_spoken_of_exist_and_are_of_who_speaks(rows, firms):
    tickets = column(rows, "SELECT id FROM tickets_ticket")
    billed = {
        row["a"]: row["b"]
        for row in rows.all(
            "SELECT a, b FROM sheets_line WHERE sheet = 'Invoices' AND row > 1"
            " AND (workbook GLOB 'Customer invoices *' OR workbook GLOB 'Supplier payments *')"
        )
    }
    named = {"ticket": 0, "invoice": 0}
    for where, texts in text_of_all(rows).items():
        for text in texts:
            for number in re.findall(r"#(\d+)", text):
                named["ticket"] += 1
                assert int(number) in tickets, (where, text)
            for number in re.findall(r"INV-\d{5}|\bR\d{5}\b", text) if where != "tickets" else ():
                named["invoice"] += 1
                assert number in billed, (where, text)
    assert min(named.values()) > 40
    for row in rows.all(
        "SELECT m.subject, p.company FROM mail_message m JOIN contacts_address a"
        " ON a.email = m.sender JOIN contacts_person p ON p.id = a.person_id"
        " WHERE p.kind = 'outside' AND m.event_id IS NULL"
    ):
        # The subject of a ticket may be mistyped, and is of the help desk's customer anyway.
        for number in re.findall(
            r"^(?:Invoice|Our invoice|Question about invoice) (\S+)$", row["subject"]
        ):
            assert billed[number].startswith(row["company"])


def test_invoices_that_tickets_are_about_are_billed_to_their_customer(rows, firms):
    found = 0
    for row in rows.all(
        "SELECT t.body, c.company FROM tickets_ticket t JOIN tickets_customer c"
        " ON c.id = t.customer_id WHERE instr(t.body, 'INV-')"
    ):
        (number,) = set(re.findall(r"INV-\d{5}", row["body"]))
        billed = rows.value("SELECT b FROM sheets_line WHERE a = ? AND sheet = 'Invoices'", number)
        if row["company"] in firms:
            found += 1
            assert billed == row["company"]
    assert found > 10


def test_papers_workbooks_and_articles_that_are_spoken_of_exist(rows):
    paths = column(
        rows,
        "SELECT '/' || t.name || '/' || f.name || '/' || i.name FROM files_item i JOIN files_item f"
        " ON f.id = i.folder_id JOIN files_item t ON t.id = f.folder_id"
        " WHERE i.trashed_at IS NULL",
    )
    names = {path.rsplit("/", 1)[1] for path in paths}
    books = column(rows, "SELECT name FROM sheets_workbook")
    titles = column(rows, "SELECT title FROM knowledge_article")
    texts = text_of_all(rows)
    mail, chat = "\n".join(texts["mail"]), "\n".join(texts["chat"])
    linked = re.findall(r"^Is (/.*) the one that counts", mail, re.M)
    assert set(linked) <= paths
    asked = re.findall(r"^Has anybody the last version of (.*)\?$", chat, re.M)
    assert set(asked) <= names and len(asked) + len(linked) > 10
    for text in (mail, chat):
        for pattern, known in (
            (r"workbook (['\"])(.+?)\1", books),
            (r"(?:What holds:|Is) (['\"])(.+?)\1", titles),
        ):
            found = {name for _, name in re.findall(pattern, text)}
            assert found and found <= known, pattern


def test_meetings_are_of_colleagues_and_guests_that_are_known(rows):
    outside = rows.all(
        "SELECT e.title, p.company FROM calendar_attendee a JOIN calendar_event e"
        " ON e.id = a.event_id JOIN contacts_person p ON p.id = a.person_id"
        " WHERE p.kind = 'outside'"
    )
    assert len(outside) > 40
    assert all(row["company"].lower() in row["title"].lower() for row in outside)
    offices = column(rows, "SELECT DISTINCT office FROM contacts_person WHERE kind = 'colleague'")
    assert column(rows, "SELECT DISTINCT office FROM calendar_room") == offices
    left = rows.value(
        "SELECT count(*) FROM calendar_event e JOIN contacts_person p ON p.id = e.organizer_id"
        " WHERE p.status = 'left' AND e.repeat = 'none'"
    )
    assert left == 0


def test_the_article_on_due_times_says_what_the_help_desk_does(rows):
    body = rows.value(
        "SELECT v.body FROM knowledge_article a JOIN knowledge_version v ON v.article_id = a.id"
        " AND v.number = a.version WHERE a.title = 'When tickets are due'"
    )
    told = {
        (plan, priority): int(hours)
        for plan, line in re.findall(r"^- (\w+): (.+)$", body, re.M)
        for priority, hours in re.findall(r"(\w+) (\d+) h", line)
    }
    assert len(told) == 12
    for row in rows.all(
        "SELECT c.plan, t.priority, (julianday(t.due_at) - julianday(t.created_at)) * 24 AS hours"
        " FROM tickets_ticket t JOIN tickets_customer c ON c.id = t.customer_id"
    ):
        assert told[row["plan"], row["priority"]] == pytest.approx(row["hours"], abs=1e-3)


def test_nothing_lies_ahead_but_what_is_planned(rows):
    now = "2026-03-02T09:00:00Z"
    for what in (
        "SELECT max(created_at) FROM tickets_ticket",
        "SELECT max(sent_at) FROM mail_message",
        "SELECT max(sent_at) FROM chat_message",
        "SELECT max(updated_at) FROM sheets_workbook",
        "SELECT max(saved_at) FROM files_version",
        "SELECT max(saved_at) FROM knowledge_version",
        "SELECT max(created_at) FROM calendar_event",
    ):
        assert rows.value(what) <= now, what
