"""Reads one mail after the other, and saves what the supplier has attached."""

import re

from agentgym.task.reference_policy import shared_policies

mail = shared_policies("desktop", "mail")

INBOX = 1
FOLDER = "/home/user/Invoices"


def solve(view):
    supplier = re.match(r"(.+?) has sent", mail.told(view))[1]
    yield from mail.open_folder(view, INBOX)
    for place in range(mail.total(view)):
        yield from mail.open_mail(view, place)
        text = mail.text(view)
        if text.startswith(f"From: {supplier} ") and "application/pdf" in text:
            number = re.search(r"our invoice (\w+-\d+)", text)[1]
            yield from mail.save_last_part(view, f"{FOLDER}/{number}.pdf")
