"""Writes the lists in docs/office.md from the services: tables, mess and tools.

A test compares the page with its output.
"""

from __future__ import annotations

import re
from pathlib import Path

from agentgym.services import Backend, ServiceSet, load_services

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "office.md"
SERVICES = ROOT / "envs" / "office" / "services"
SEEDS = (1, 2, 3)

_SAME_PHONE = (
    "replace(replace(a.phone, ' ', ''), '-', '') = replace(replace(b.phone, ' ', ''), '-', '')"
)
_COPY = "GLOB '*_final*' OR name GLOB '* - copy*' OR name GLOB '* (2)*' OR name GLOB '*_old.*'"

MESS = {
    "contacts: people who were entered twice": "SELECT count(*) FROM contacts_person a"
    f" JOIN contacts_person b ON a.id < b.id AND {_SAME_PHONE}"
    " WHERE a.phone <> '' AND b.kind = 'outside'",
    "contacts: outside people with the given name and initial of a colleague":
    "SELECT count(DISTINCT b.id) FROM contacts_person a JOIN contacts_person b"
    " ON substr(a.name, 1, instr(a.name, ' ') + 1) = substr(b.name, 1, instr(b.name, ' ') + 1)"
    " WHERE a.kind = 'colleague' AND b.kind = 'outside'",
    "contacts: colleagues who have left": "SELECT count(*) FROM contacts_person"
    " WHERE kind = 'colleague' AND status = 'left'",
    "contacts: of these, still in manual groups": "SELECT count(*) FROM contacts_member m"
    " JOIN contacts_person p ON p.id = m.person_id WHERE p.status = 'left'",
    "contacts: old addresses that still reach somebody": "SELECT count(*) FROM contacts_alias",
    "tickets: open or pending": "SELECT count(*) FROM tickets_ticket"
    " WHERE status IN ('open', 'pending')",
    "tickets: of these, overdue": "SELECT count(*) FROM tickets_ticket"
    " WHERE status IN ('open', 'pending') AND due_at < '2026-03-02T09:00:00Z'",
    "tickets: of these, due within a day": "SELECT count(*) FROM tickets_ticket WHERE status IN"
    " ('open', 'pending') AND due_at BETWEEN '2026-03-02T09:00:00Z' AND '2026-03-03T09:00:00Z'",
    "tickets: of these, unassigned": "SELECT count(*) FROM tickets_ticket"
    " WHERE status IN ('open', 'pending') AND assignee IS NULL",
    "tickets: open duplicates within one company": "SELECT count(*) FROM tickets_ticket a"
    " JOIN tickets_ticket b ON a.id < b.id AND lower(trim(a.subject)) = lower(trim(b.subject))"
    " JOIN tickets_customer c ON c.id = a.customer_id JOIN tickets_customer d"
    " ON d.id = b.customer_id AND d.company = c.company"
    " WHERE a.status IN ('open', 'pending') AND b.status IN ('open', 'pending')",
    "tickets: customers who were entered twice": "SELECT count(*) FROM tickets_customer a"
    f" JOIN tickets_customer b ON a.id < b.id AND {_SAME_PHONE}",
    "calendar: future overlaps among the agent's single meetings": "SELECT count(*)"
    " FROM calendar_event a JOIN calendar_attendee x ON x.event_id = a.id AND x.person_id = 1"
    " JOIN calendar_event b ON a.id < b.id AND a.start < b.end AND b.start < a.end"
    " JOIN calendar_attendee y ON y.event_id = b.id AND y.person_id = 1"
    " WHERE a.repeat = 'none' AND b.repeat = 'none' AND a.status = 'confirmed'"
    " AND b.status = 'confirmed' AND a.end > '2026-03-02T09:00:00Z'",
    "calendar: future invitations that the agent has not answered": "SELECT count(*)"
    " FROM calendar_event e JOIN calendar_attendee a ON a.event_id = e.id AND a.person_id = 1"
    " WHERE a.response = 'none' AND e.repeat = 'none' AND e.status = 'confirmed'"
    " AND e.start > '2026-03-02T09:00:00Z'",
    "calendar: series of people who have left": "SELECT count(*) FROM calendar_event e"
    " JOIN contacts_person p ON p.id = e.organizer_id WHERE p.status = 'left'",
    "mail: unread in the inbox": "SELECT sum(unread) FROM mail_message WHERE folder_id = 1",
    "mail: unanswered mails of known people since 1 February": "SELECT count(*)"
    " FROM mail_message m WHERE folder_id = 1 AND event_id IS NULL AND sent_at > '2026-02-01'"
    " AND sender IN (SELECT email FROM contacts_address) AND NOT EXISTS (SELECT 1"
    " FROM mail_message o WHERE o.thread = m.thread AND o.sent_at > m.sent_at)",
    "mail: returned as undeliverable": "SELECT count(*) FROM mail_message"
    " WHERE subject LIKE 'Undelivered%'",
    "mail: drafts that were never sent": "SELECT count(*) FROM mail_message WHERE folder_id = 3",
    "mail: from a domain that differs from ours by two letters": "SELECT count(*) FROM mail_message"
    " WHERE sender LIKE '%@fairlaed.example'",
    "chat: questions to the agent": "SELECT count(*) FROM chat_mention x JOIN chat_message m"
    " ON m.id = x.message_id WHERE x.person_id = 1 AND m.text LIKE '%?%'",
    "chat: channels with members who have left": "SELECT count(DISTINCT channel_id)"
    " FROM chat_member m JOIN contacts_person p ON p.id = m.person_id WHERE p.status = 'left'",
    "files: copies with misleading names (_final, (2), _old)": "SELECT count(*) FROM files_item"
    f" WHERE kind = 'file' AND (name {_COPY})",
    "files: in the trash": "SELECT count(*) FROM files_item WHERE trashed_at IS NOT NULL",
    "files: shares without an end, with people who have left or are outside": "SELECT count(*)"
    " FROM files_share s JOIN contacts_address p ON p.email = s.grantee"
    " WHERE s.expires_at IS NULL AND (p.status = 'left' OR p.kind = 'outside')",
    "sheets: cells in error": "SELECT count(*) FROM sheets_cell WHERE kind = 'error'",
    "sheets: rows of invoices entered twice": "SELECT count(*) FROM (SELECT 1 FROM sheets_line"
    " WHERE sheet = 'Invoices' AND row > 1 GROUP BY workbook, a HAVING count(*) > 1)",
    "sheets: amounts that are texts": "SELECT count(*) FROM sheets_line WHERE row > 1 AND"
    " ((sheet = 'Invoices' AND workbook GLOB 'Customer*' AND typeof(g) = 'text')"
    " OR (sheet = 'Receipts' AND typeof(e) = 'text'))",
    "sheets: customers' invoices that are overdue": "SELECT count(*) FROM sheets_line"
    " WHERE sheet = 'Invoices' AND workbook GLOB 'Customer*' AND row > 1 AND h IS NULL"
    " AND f < '2026-03-02'",
    "sheets: contracts in *Renewals 2026* whose contact has left": "SELECT count(*)"
    " FROM sheets_line l JOIN contacts_person p ON p.email = l.c"
    " WHERE l.workbook = 'Renewals 2026' AND l.sheet = 'Contracts' AND p.status = 'left'",
    "sheets: laptops not returned by colleagues who have left": "SELECT count(*)"
    " FROM sheets_line l JOIN contacts_person p ON p.email = l.d WHERE l.workbook = 'Laptops'"
    " AND l.sheet = 'Laptops' AND p.status = 'left' AND l.f IS NULL",
    "knowledge: pairs of published articles with nearly the same title and different texts":
    "SELECT count(*) FROM knowledge_article a JOIN knowledge_article b ON instr(b.title, a.title)"
    " AND (a.title <> b.title OR a.id < b.id) AND a.id <> b.id"
    " JOIN knowledge_version v ON v.article_id = a.id AND v.number = a.version"
    " JOIN knowledge_version w ON w.article_id = b.id AND w.number = b.version"
    " WHERE a.status = 'published' AND b.status = 'published'"
    " AND substr(v.body, 1, 60) <> substr(w.body, 1, 60)",
    "knowledge: published and overdue for review": "SELECT count(*) FROM knowledge_article"
    " WHERE status = 'published' AND review_on < '2026-03-02'",
    "knowledge: published by owners who have left": "SELECT count(*) FROM knowledge_article a"
    " JOIN contacts_address p ON p.email = a.owner"
    " WHERE a.status = 'published' AND p.status = 'left'",
    "knowledge: edits that are not published yet": "SELECT count(*) FROM knowledge_article"
    " WHERE status = 'published' AND version > published_version",
}  # fmt: skip
"""SQL that computes each count, by the label of its row."""

WITHOUT_NUMBERS = (
    "sheets: totals of *Budget 2025* and *Pipeline Q1 2026_final_v2* miss some rows; in *Expenses*,"
    " 2025-10 has texts as amounts, 2025-11 a duplicate row, 2025-12 a total over too few rows,"
    " 2026-01 a typed total in place of a formula",
    "sheets: *Headcount* lacks a colleague, and does not mark one who has left",
)


def written(page: str) -> str:
    """Return the page with lists made from the current services."""
    services = load_services(SERVICES)
    rows = [Backend(services, services.template(seed)).state.rows for seed in SEEDS]
    for name, lines in (
        ("tables", _tables(services, rows[0])),
        ("mess", _mess(rows)),
        ("tools", _tools(services)),
    ):
        text = "\n".join(lines)
        page, count = re.subn(
            rf"(<!-- {name} -->\n).*?(<!-- end -->)",
            lambda found, text=text: f"{found[1]}{text}\n{found[2]}",
            page,
            flags=re.DOTALL,
        )
        if count != 1:
            raise ValueError(f"{PAGE.name}: expected one list named {name!r}, got {count}")
    return page


def _tables(services: ServiceSet, rows: object) -> list[str]:
    lines = ["| service | tables and rows |", "|---|---|"]
    for service in sorted(services.classes):
        counts = [
            f"{table.name.removeprefix(f'{service}_')}"
            f" {rows.value(f'SELECT count(*) FROM {table.name}')}"
            for table in services.layout.tables
            if table.name.startswith(f"{service}_")
        ]
        lines.append(f"| `{service}` | {', '.join(counts)} |")
    return lines


def _mess(rows: list[object]) -> list[str]:
    lines = ["| what | seeds 1, 2, 3 |", "|---|---|"]
    for what, sql in MESS.items():
        lines.append(f"| {what} | {', '.join(str(one.value(sql)) for one in rows)} |")
    return lines + [f"| {what} | all |" for what in WITHOUT_NUMBERS]


def _tools(services: ServiceSet) -> list[str]:
    lines = ["| tool | | arguments | |", "|---|---|---|---|"]
    for name, function in sorted(services.functions.items()):
        parameters = function.spec.parameters
        needed = parameters.get("required", [])
        arguments = [key if key in needed else f"{key}?" for key in parameters["properties"]]
        first = function.spec.description.split(". ")[0].split("\n")[0].rstrip(".")
        kind = "writes" if function.writes else "reads"
        lines.append(f"| `{name}` | {kind} | {', '.join(arguments)} | {first} |")
    return lines


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
