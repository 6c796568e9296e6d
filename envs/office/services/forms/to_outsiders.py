"""Forms of mails to customers, suppliers and guests. Legal has seen every word of them."""

from __future__ import annotations

from .template import Slot, Template

PRODUCTS = ("Ledgerly", "Parcelhub", "Rosterboard", "Vaultdrive")
SIGNED = "\n\nErik Pinto\nFairlead Software"

_INVOICE = Slot("invoice", "Invoice", "reference")
_AMOUNT = Slot("amount", "Amount in euros", "amount")
_PRODUCT = Slot("product", "Product", choices=PRODUCTS)


def _to(reader: str, id: str, title: str, purpose: str, subject: str, body: str, *slots: Slot):
    return Template(
        id, title, purpose, "mail", reader, f"Dear {{to}},\n\n{body}{SIGNED}", slots, subject
    )


TO_OUTSIDERS = (
    _to(
        "customer",
        "payment-reminder",
        "First reminder of an invoice",
        "Asks a customer once, politely, to pay an invoice that is overdue.",
        "Reminder: invoice {invoice}",
        "our invoice {invoice} over {amount} was due on {due} and is still open. Please transfer"
        " the amount within ten days. If your payment and this mail have crossed, please take no"
        " notice of it.",
        _INVOICE,
        _AMOUNT,
        Slot("due", "Due on", "date"),
    ),
    _to(
        "customer",
        "payment-demand",
        "Second reminder of an invoice",
        "Sets a customer who has not answered a first reminder a last day to pay. Finance only.",
        "Second reminder: invoice {invoice}",
        "in spite of our reminder of {reminded} we have received no payment of our invoice"
        " {invoice} over {amount}. Please transfer it by {until}.",
        _INVOICE,
        _AMOUNT,
        Slot("reminded", "First reminder sent on", "date"),
        Slot("until", "To be paid by", "date"),
    ),
    _to(
        "customer",
        "credit-confirmation",
        "Confirmation of a credit",
        "Tells a customer that a credit has been granted, and how it is given.",
        "Your credit",
        "you have been given a credit of {amount} on invoice {invoice}. It is {how}.",
        _INVOICE,
        _AMOUNT,
        Slot("how", "How it is given", choices=("set off against the next invoice", "paid out")),
    ),
    _to(
        "customer",
        "contract-renewal",
        "Contract that ends this year",
        "Tells the contact of a customer when their contract ends, that prices stay as they are,"
        " and who will be in touch.",
        "Your contract in 2026",
        "your contract for {product} ends on {ends}. Our prices stay as they are, and {manager}"
        " will be in touch with you about what comes next.",
        _PRODUCT,
        Slot("ends", "Contract ends on", "date"),
        Slot("manager", "Account manager", "person"),
    ),
    _to(
        "customer",
        "price-change",
        "Change of a price",
        "Tells the contact of a customer about a new price that the management has decided on.",
        "New price of {product}",
        "from {since} the price of {product} changes by {percent} percent.",
        _PRODUCT,
        Slot("since", "From", "date"),
        Slot("percent", "Change in percent; less than 0 if it gets cheaper", "decimal"),
    ),
    _to(
        "customer",
        "ticket-status",
        "Who works on a ticket",
        "Tells a customer the number of their ticket and who is working on it.",
        "Your ticket {ticket}",
        "your message has arrived. Its ticket number is {ticket}, and {engineer} is working on it"
        " now.",
        Slot("ticket", "Ticket", "ticket"),
        Slot("engineer", "Working on it", "person"),
    ),
    _to(
        "customer",
        "request-refused",
        "Refusal of a request",
        "Tells a customer that we cannot do what they asked for, and why.",
        "Your request",
        "thank you for your request of {asked}. We cannot do this for you, because {reason}.",
        Slot("asked", "Asked on", "date"),
        Slot(
            "reason",
            "Reason",
            choices=(
                "your plan does not include it",
                "we could not verify who you are",
                "the law does not allow it",
                "the time limit has passed",
            ),
        ),
    ),
    _to(
        "supplier",
        "invoice-received",
        "Receipt of an invoice",
        "Tells a supplier that their invoice has arrived, and nothing about when it is paid.",
        "Your invoice {invoice}",
        "we have received your invoice {invoice}.",
        _INVOICE,
    ),
    _to(
        "supplier",
        "invoice-without-order",
        "Invoice without a purchase order number",
        "Asks a supplier to send an invoice again, with our purchase order number on it.",
        "Your invoice {invoice}: purchase order number",
        "we cannot pay your invoice {invoice} until our purchase order number, {order}, is on it."
        " Please send us the invoice again with this number on it.",
        _INVOICE,
        Slot("order", "Purchase order number", "reference"),
    ),
    _to(
        "guest",
        "visit-confirmation",
        "Confirmation of a visit",
        "Tells a guest the day, the time and the room of their visit.",
        "Your visit to Fairlead",
        "we are expecting you on {day} from {from} to {until} in our room {room}.",
        Slot("day", "Day", "date"),
        Slot("from", "From, in the office's time", "time"),
        Slot("until", "Until, in the office's time", "time"),
        Slot("room", "Room", "room"),
    ),
    _to(
        "guest",
        "visit-cancelled",
        "Cancellation of a visit",
        "Tells a guest that we have to cancel their visit, and why.",
        "Your visit to Fairlead",
        "we have to cancel your visit on {day}, because {reason}.",
        Slot("day", "Day", "date"),
        Slot(
            "reason",
            "Reason",
            choices=("your host is ill", "no room is free", "the office is closed that day"),
        ),
    ),
)
