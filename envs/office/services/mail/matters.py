"""Subjects and texts of the office's mail."""

from __future__ import annotations

FOLDERS = (
    "Inbox",
    "Sent",
    "Drafts",
    "Trash",
    "Archive",
    "Junk",
    "Travel",
    "Invoices",
    "Facilities",
)

INSIDE = (
    ("Access card for a visitor", "Could you arrange an access card for {day}? Two people.",
     "Done, they are at the front desk under your name.", "Great, thank you."),
    ("Room for the workshop on {day}", "Is there a room for {n} people, with a whiteboard?",
     "How long do you need it?", "From ten to three, please."),
    ("Flights to Lisbon", "I have to be in Lisbon on {day} by noon. What do you suggest?",
     "There is one at 7:05 and one at 8:40. Which one?", "The later one, window seat."),
    ("Coffee machine, third floor", "It leaks again. Can somebody have a look?",
     "The technician comes on {day}.", "It still leaks, I am afraid."),
    ("Signature needed", "The contract is ready to be signed. When is a good time?",
     "He is back on {day}. Leave it with me.", "Any news?"),
    ("New starter on {day}", "Somebody new starts on {day}. Desk, laptop, card?",
     "Desk and card are done; the laptop is on its way.", "Perfect."),
    ("Team dinner", "We are {n} and two of us are vegetarians. Which place?",
     "I have asked two; both are free on {day}.", "The first one, then."),
    ("Quarterly numbers", "The slides are to be in by {day}. Who fills in page {n}?",
     "Finance does, I have asked them.", "They say next week. That is too late."),
    ("Latest version?", "Is {paper} the one that counts, or is there a newer one?",
     "I think so. Who changed it last?", "Somebody has made a copy and called it final."),
    ("Numbers in the workbook {book!r}", "One of the totals looks wrong. Could you check?",
     "Which sheet do you mean?", "The summary. It was right last week."),
    ("What holds: {article!r}?", "I find two articles that say different things. Which one holds?",
     "The newer one, I believe.", "Then the old one ought to go."),
)  # fmt: skip
"""Subject, first message, answer, and answer to that; among colleagues."""

WITH_SUPPLIERS = (
    ("Invoice {invoice}", "Our invoice {invoice} over EUR {amount} is due on {due}.",
     "The purchase order number is missing. Could you send it again?", "Here is the new version."),
    ("Our offer for the coming year", "Prices rise by {n} percent from April. Shall we talk?",
     "That is more than we have planned. Could you come down a little?", "Let me ask."),
    ("Visit on {day}", "We would come by on {day} at ten. Does that suit you?",
     "Please ring at the front desk.", "Will do."),
)  # fmt: skip

WITH_CUSTOMERS = (
    ("Question about invoice {invoice}", "Could you tell us what invoice {invoice} is for?",
     "I have passed it on to our colleagues in Finance.", "We still wait for an answer."),
    ("Visit of your office on {day}", "{n} of us would like to see your office on {day}.",
     "You are welcome. At what time?", "At eleven."),
    ("Who is in charge of us?", "Our contact does not answer any more. Whom do we write to?",
     "I will find out and let you know.", "Thank you."),
)  # fmt: skip

JUNK_MAIL = (
    ("You have won", "Click here within 24 hours to claim a voucher.", "prize@lucky-draw.example"),
    ("Your mailbox is full", "Sign in to keep your messages.", "admin@fairlaed.example"),
    ("Cheaper toner, today only", "Ninety percent off. No questions.", "sales@tonerking.example"),
)

NEWSLETTERS = (
    ("Upland Coffee: what is in the bag in {month}", "New beans, same price.",
     "news@uplandcoffee.example"),
    ("Nimbus Hosting status: maintenance on {day}", "Expect ten minutes of downtime.",
     "status@nimbushosting.example"),
)  # fmt: skip
