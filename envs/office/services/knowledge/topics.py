"""Topics of the knowledge base by category, each with a rule and figures in it."""

from __future__ import annotations

CATEGORIES = {
    "hr": "People and leave",
    "finance": "Expenses and purchasing",
    "it": "Computers and access",
    "sales": "Selling and contracts",
    "support": "Helping customers",
    "office": "The office",
    "product": "How our products work",
}

TOPICS = {
    "hr": (
        ("Parental leave", "Tell your lead {n} weeks ahead. The form goes to People."),
        ("Sick leave", "Call in by {hour}:00. From day {small} a doctor's note is needed."),
        ("Holiday requests", "Ask {n} days ahead; up to {small} days carry over to March."),
        ("Home office", "Up to {small} days a week from home; core hours begin at {hour}:00."),
        ("Overtime", "Overtime beyond {n} hours a month needs the lead's consent."),
        ("Onboarding", "Buddy, laptop and badge on day one; a talk after {n} days."),
        ("Leaving the company", "Badge and laptop go to IT {small} days before the end."),
    ),
    "finance": (
        ("Travel expenses", "Receipts within {n} days. Hotel up to EUR {sum} a night."),
        ("Meals with customers", "Up to EUR {sum} a person; name the guests on the receipt."),
        ("Purchasing limits", "Leads decide up to EUR {sum}0; above that, Management does."),
        ("Company cards", "Statements are cleared within {n} days or the card is blocked."),
        ("Refunds to customers", "Support refunds up to EUR {sum}; Finance decides above that."),
        ("Invoices from suppliers", "Paid {n} days after they come in, if an order is named."),
        ("Reminders to customers", "First reminder {n} days after the due date, then a call."),
    ),
    "it": (
        ("Passwords", "At least {n} characters; the vault makes them. Never by mail."),
        ("VPN", "Ask for a profile; it holds {n} days. Reconnect after {small} failures."),
        ("Lost laptop", "Call IT within {small} hours, then file a report with Legal."),
        ("Two-factor sign-in", "Register {small} devices; backup codes hold {n} days."),
        ("Printers", "The printer on floor two is number {sum}; toner is in the cupboard."),
        ("Sharing files with outsiders", "Shares end after {n} days; editors only by exception."),
        ("Laptops", "Each has a line in the workbook Laptops; replaced after {small} years."),
        ("Data retention", "Customer data is deleted {n} days after the contract ends."),
    ),
    "sales": (
        ("Discounts", "Up to {n} percent by Sales; above that ask Management."),
        ("Contract renewal", "Write to the customer {n} days before the end."),
        ("Trial accounts", "Trials last {n} days and are extended at most {small} times."),
        ("Reference customers", "Ask in writing; a logo may be shown for {small} years."),
        ("Tenders", "Ask Finance {n} days before the deadline for the guarantees."),
    ),
    "support": (
        ("First answer times", "Business plan: first answer within {small} hours."),
        ("Escalation", "After {n} hours without progress, call the engineer on duty."),
        ("Outages", "Post on the status page within {n} minutes, then every {small} hours."),
        ("Merging tickets", "Merge only within one company; never after {n} days."),
        (
            "Closing tickets",
            "Close once the customer agrees, or {small} days after the last answer.",
        ),
        ("Angry customers", "Stay calm, sum up, offer a call within {small} hours."),
    ),
    "office": (
        ("Visitors", "Visitors sign in; tell the front desk {small} hours ahead."),
        ("Meeting rooms", "Book up to {n} days ahead; a room not used for {n} minutes is free."),
        (
            "Keys and badges",
            "A lost badge costs EUR {sum}; tell office@fairlead.example the same day.",
        ),
        ("Fire drill", "Twice a year; meeting point is the yard. {n} marshals."),
        ("Parking", "There are {n} places; ask office@fairlead.example {small} days ahead."),
        ("Post and parcels", "Parcels leave at {hour}:00; private ones are not sent."),
    ),
}

PRODUCT_TOPICS = (
    ("{product}: export", "Exports hold up to {sum}000 rows; larger ones are split by month."),
    ("{product}: user roles", "Owner, editor, reader. An account has at most {small} owners."),
    ("{product}: backups", "Taken every {small} hours, kept {n} days."),
    ("{product}: known limits", "{n} open sessions a user; pictures up to {small} MB."),
    ("{product}: billing", "Seats are counted on day {small} of the month."),
    ("{product}: connecting mail", "Needs port 587; wait {n} minutes after saving."),
)
