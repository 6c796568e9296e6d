"""Forms: the office's own templates for mails, notes on tickets and posts.

A form has typed fields. What is entered is checked, stored beside the message, and shown in the
text that the form makes of it.
"""

from __future__ import annotations

import random
from typing import Any

from agentgym.services import Image, Service, ServiceError, reads, writes
from agentgym.services.arguments import search_words

from .filling import Filled, fill_in
from .kinds import KINDS
from .shapes import Emails, Entries, Form, FormId, Lines, Place, Recipients, Sent, Summary
from .templates import FORMS


class Forms(Service):
    """Forms of the office."""

    after = ("contacts", "calendar", "tickets", "files", "sheets", "knowledge", "mail", "chat")

    def fill(self, rng: random.Random) -> None:
        """Enter the forms that the office has; they are the same for every seed."""
        for form in FORMS:
            form.enter(self.db)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def search(self, text: str = "", place: Place | None = None) -> list[Summary]:
        """Find forms; all conditions must hold.

        Args:
            text: Words that title or purpose contain, in any case.
            place: Only forms for a mail, a note on a ticket (only the team reads it), a reply on a
                ticket (the customer reads it) or a post in the chat.
        """
        words = [word.lower() for word in search_words(text)]
        found = self.db.all("SELECT id, title, purpose, place, reader FROM forms_form ORDER BY id")
        return [  # type: ignore[return-value]
            form
            for form in found
            if place in (None, form["place"])
            if all(word in f"{form['title']} {form['purpose']}".lower() for word in words)
        ]

    @reads
    def get(self, form: FormId) -> Form:
        """Show a form: its fields, the columns of its lines, and the text that is made of it.

        Args:
            form: Id of the form.
        """
        row = self._form(form)
        fields = self._fields(form)
        return {
            "id": row["id"],
            "title": row["title"],
            "purpose": row["purpose"],
            "place": row["place"],
            "reader": row["reader"],
            "fields": [_shown(field) for field in fields if not field["in_lines"]],
            "columns": [_shown(field) for field in fields if field["in_lines"]],
            "subject": row["subject"],
            "text": row["body"].replace("{lines}", row["line"]),
        }

    # --- filling in ------------------------------------------------------------------------

    @writes
    def send_mail(
        self,
        form: FormId,
        to: Recipients,
        fields: Entries,
        lines: Lines | None = None,
        cc: Emails | None = None,
        answers: int | None = None,
    ) -> Sent:
        """Send the mail that a form makes. It has no other text than the form's.

        Args:
            form: Id of the form.
            to: Addresses of people or groups.
            fields: What to enter, field by field.
            lines: If the form has columns: what to enter, line by line, in their order.
            cc: Addresses that get a copy.
            answers: Number of the message that it answers, from or to one of these people.
        """
        filled = self._fill_in(form, ("mail",), fields, lines, to)
        self._check_thread(answers, [*to, *(cc or [])])
        mail = self.neighbour("mail")
        draft = mail.save_draft(to, filled.subject, filled.text, cc, None, answers)
        number = mail.send_draft(draft["id"])["id"]
        return self._keep(form, filled, message=number)

    @writes
    def comment_ticket(
        self,
        form: FormId,
        ticket: int,
        fields: Entries,
        lines: Lines | None = None,
        picture: Image | None = None,
    ) -> Sent:
        """Write the note or the reply that a form makes on a ticket.

        Args:
            form: Id of the form.
            ticket: Number of the ticket.
            fields: What to enter, field by field.
            lines: If the form has columns: what to enter, line by line, in their order.
            picture: Name of an image to show with it.
        """
        filled = self._fill_in(form, ("note", "reply"), fields, lines, [])
        internal = self._form(form)["place"] == "note"
        comment = self.neighbour("tickets").comment(ticket, filled.text, internal, picture)
        return self._keep(form, filled, comment=comment["id"])

    @writes
    def post_chat(
        self,
        form: FormId,
        channel: int,
        fields: Entries,
        lines: Lines | None = None,
        thread: int | None = None,
    ) -> Sent:
        """Post what a form makes in a channel that you are a member of.

        Args:
            form: Id of the form.
            channel: Number of the channel.
            fields: What to enter, field by field.
            lines: If the form has columns: what to enter, line by line, in their order.
            thread: Number of the message to answer in its thread.
        """
        filled = self._fill_in(form, ("chat",), fields, lines, [])
        post = self.neighbour("chat").post(channel, filled.text, thread)
        return self._keep(form, filled, post=post["id"])

    # --- rules -----------------------------------------------------------------------------

    def _form(self, form: str) -> dict[str, Any]:
        row = self.db.one("SELECT * FROM forms_form WHERE id = ?", form)
        if row is None:
            raise ServiceError("not_found", f"no form {form!r}; see forms_search", "form")
        return row

    def _fields(self, form: str) -> list[dict[str, Any]]:
        fields = self.db.all("SELECT * FROM forms_field WHERE form_id = ? ORDER BY position", form)
        for field in fields:
            field["choices"] = self.db.column(
                "SELECT value FROM forms_choice WHERE form_id = ? AND field = ? ORDER BY position",
                form,
                field["name"],
            )
        return fields

    def _check_thread(self, answers: int | None, readers: list[str]) -> None:
        """Refuse an answer to a message that none of its readers has written or got."""
        sql = (
            "SELECT sender FROM mail_message WHERE id = ?"
            " UNION SELECT email FROM mail_recipient WHERE message_id = ?"
        )
        people = {self._main_address(one) for one in self.db.column(sql, answers, answers)}
        if people and people.isdisjoint(map(self._main_address, readers)):
            told = f"message {answers} is neither from nor to {', '.join(readers[:3])}"
            raise ServiceError("conflict", f"{told}; leave it out", "answers")

    def _main_address(self, email: str) -> str:
        sql = "SELECT lower(main) FROM contacts_address WHERE lower(email) = ? ORDER BY status"
        return str(self.db.value(f"{sql} LIMIT 1", email.lower()) or email.lower())

    def _fill_in(
        self, form: str, places: tuple[str, ...], entries: Any, lines: Any, readers: list[str]
    ) -> Filled:
        row = self._form(form)
        if row["place"] not in places:
            raise ServiceError("invalid", f"form {form!r} is {_USES[row['place']]}", "form")
        return fill_in(self, row, self._fields(form), entries, lines or [], readers)

    def _keep(
        self,
        form: str,
        filled: Filled,
        message: int | None = None,
        comment: int | None = None,
        post: int | None = None,
    ) -> Sent:
        number = self.db.insert(
            "forms_filled",
            form_id=form,
            message_id=message,
            comment_id=comment,
            post_id=post,
            subject=filled.subject if message else "",
            text=filled.text,
            filled_at=self.now,
        )
        for line, values in enumerate([filled.values, *filled.lines]):
            for field, value in values.items():
                self.db.insert("forms_value", filled_id=number, line=line, field=field, value=value)
        return {
            "form": form,
            "message": message,
            "comment": comment,
            "post": post,
            "subject": filled.subject,
            "text": filled.text,
        }


_USES = {
    "mail": "for a mail; use forms_send_mail",
    "note": "for a note on a ticket; use forms_comment_ticket",
    "reply": "for a reply on a ticket; use forms_comment_ticket",
    "chat": "for a post in the chat; use forms_post_chat",
}


def _shown(field: dict[str, Any]) -> Any:
    return {
        "name": field["name"],
        "label": field["label"],
        "kind": field["kind"],
        "expects": KINDS[field["kind"]].expects,
        "required": bool(field["required"]),
        "choices": field["choices"],
    }
