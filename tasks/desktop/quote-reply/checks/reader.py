"""Read mails as the mail program keeps them, in a separate process with limits."""

import email
import email.policy
import email.utils
import os

MOST_CHARS = 8_000


def answer(order, folder):
    """Return recipients, what is answered, subject and text of each file, in their order."""
    return [_mail(os.path.join(folder, name)) for name in order["names"]]


def _mail(path):
    with open(path, "rb") as file:
        made = email.message_from_binary_file(file, policy=email.policy.default)
    body = made.get_body(preferencelist=("plain",))
    told = {
        name: sorted({at.lower() for _, at in _people(made, name)}) for name in ("to", "cc", "bcc")
    }
    # A draft has no In-Reply-To before it is queued, but the thread up to what it answers.
    thread = str(made["In-Reply-To"] or made["References"] or "").split()
    told["answers"] = thread[-1] if thread else ""
    told["subject"] = str(made["Subject"] or "").strip()
    told["text"] = "" if body is None else body.get_content()[:MOST_CHARS]
    told["parts"] = sum(not part.is_multipart() for part in made.walk())
    return told


def _people(made, name):
    return email.utils.getaddresses([str(one) for one in made.get_all(name, [])])
