"""Forms of mails to colleagues: lists and figures that somebody works on with."""

from __future__ import annotations

from .template import Slot, Template
from .to_outsiders import PRODUCTS

_INVOICE = Slot("invoice", "Invoice", "reference")


def _to(
    reader: str,
    id: str,
    title: str,
    purpose: str,
    subject: str,
    body: str,
    *slots: Slot,
    line: str = "",
    columns: tuple[Slot, ...] = (),
) -> Template:
    text = f"Hello {{to}},\n\n{body}\n\nErik"
    return Template(id, title, purpose, "mail", reader, text, slots, subject, line, columns)


TO_COLLEAGUES = (
    _to(
        "colleague",
        "ticket-handover",
        "Hand-over of tickets",
        "Tells somebody who has taken over which ticket of a colleague who leaves.",
        "Hand-over: tickets of {leaver}",
        "these tickets of {leaver} have been handed over:\n\n{lines}",
        Slot("leaver", "Who leaves", "person"),
        line="{ticket}: {taker}",
        columns=(
            Slot("ticket", "Ticket", "ticket"),
            Slot("taker", "Who has it now", "person"),
        ),
    ),
    _to(
        "owner of an article",
        "article-figure",
        "New figure in an article",
        "Tells the owner of an article which figure has been changed in it.",
        "New figure in your article",
        "a figure in {article} has changed.\n\nBefore: {before}\nNow: {now}",
        Slot("article", "Article", "article"),
        Slot("before", "Figure before", "decimal"),
        Slot("now", "Figure now", "decimal"),
    ),
    _to(
        "colleague",
        "meeting-changes",
        "Changed dates of a meeting",
        "Tells somebody which dates of a series of meetings are moved or left out.",
        "Changed dates: {meeting}",
        "these dates of {meeting} have changed (Berlin time):\n\n{lines}",
        Slot("meeting", "Meeting", "event"),
        line="{day}: {what} {start}",
        columns=(
            Slot("day", "Day", "date"),
            Slot("what", "What happens", choices=("moved to", "left out")),
            Slot("start", "New time in Berlin, if it is moved", "time", required=False),
        ),
    ),
    _to(
        "Sales",
        "offer-list",
        "People who want an offer",
        "Tells Sales who wants an offer. Offers are printed from it.",
        "Offers: {group}",
        "these people of {group} want an offer:\n\n{lines}",
        Slot("group", "Group that they are in", "group"),
        line="{person}",
        columns=(Slot("person", "Person, shown with the firm", "contact"),),
    ),
    _to(
        "Finance",
        "invoice-passed-on",
        "Invoice that came by mail",
        "Passes an invoice of a supplier on to Finance.",
        "Invoice {invoice} of {supplier}",
        "{supplier} has sent us invoice {invoice} over {amount}.",
        Slot("supplier", "Supplier", "firm"),
        _INVOICE,
        Slot("amount", "Amount in euros", "amount"),
    ),
    _to(
        "Finance",
        "invoice-corrections",
        "Corrected and added invoices",
        "Tells Finance which invoices have been corrected in a workbook and which added.",
        "Corrected and added invoices",
        "{lines}",
        line="{what}: {invoice}",
        columns=(
            Slot("what", "What was done", choices=("Corrected", "Added")),
            _INVOICE,
        ),
    ),
    _to(
        "management",
        "offer-status",
        "What has become of an offer",
        "Tells the one who decides what has become of an offer, and what it costs now.",
        "Offer {offer}: {status}",
        "Offer {offer}: {status}\nPrice now: {price}",
        Slot("offer", "Offer", "reference"),
        Slot("status", "What has become of it", choices=("accepted", "gone", "still open")),
        Slot("price", "What it costs now, in euros", "amount"),
    ),
    _to(
        "colleague",
        "open-tickets",
        "Open tickets of a product",
        "Reports the open tickets of a product on one day.",
        "Open tickets: {product}",
        "{product}, {day}\n\nOpen: {open}\nPending: {pending}\nOverdue: {overdue}\n"
        "Unassigned: {unassigned}",
        Slot("product", "Product", choices=PRODUCTS),
        Slot("day", "Day", "date"),
        Slot("open", "Open", "number"),
        Slot("pending", "Pending", "number"),
        Slot("overdue", "Overdue", "number"),
        Slot("unassigned", "Unassigned", "number"),
    ),
    _to(
        "owner of a file",
        "share-to-end",
        "Share to be ended",
        "Asks the owner of a file to stop sharing it with somebody, without giving a reason.",
        "Please end a share",
        "please end the share of {file} with {grantee}.",
        Slot("file", "File", "file"),
        Slot("grantee", "Address that it is shared with", "email"),
    ),
    _to(
        "account manager",
        "identity-check",
        "Identity check that failed",
        "Tells an account manager what somebody wanted whose identity could not be checked.",
        "Identity check",
        "Ticket: {ticket}\nWanted: {wanted}\nInto: {into}\nDone: {done}",
        Slot("ticket", "Ticket", "ticket"),
        Slot(
            "wanted",
            "What was to be changed",
            choices=("e-mail address", "phone number", "name", "company", "plan"),
        ),
        Slot("into", "Into what", "text"),
        Slot("done", "What has been changed", choices=("nothing", "all of it")),
    ),
)
