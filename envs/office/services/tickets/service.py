"""Tickets: a help desk with customers, tickets, comments, tags, links and due dates.

Due dates follow the plan of the customer and the priority, counted from when the ticket was
made. A change may carry the version its author has seen, and is refused if another came first.
"""

from __future__ import annotations

import random
from typing import Annotated, Any, Literal

from pydantic import Field

from agentgym.services import Image, ServiceError, reads, writes
from agentgym.services.arguments import Limit, Offset, Tag, search_words

from .rules import SUMMARY, _Rules
from .seeding import fill
from .shapes import Agent, Comment, Customer, Page, Priority, Status, Ticket
from .sla import due_at

LinkKind = Literal["relates_to", "blocks", "duplicates"]
Text = Annotated[str, Field(min_length=1, max_length=100_000)]
Line = Annotated[str, Field(min_length=1, max_length=200)]


class Tickets(_Rules):
    """The help desk."""

    seen = {
        "tickets_ticket": (
            "subject",
            "product",
            "status",
            "priority",
            "assignee",
            "resolution",
        ),
        "tickets_tag": ("ticket_id", "tag"),
        "tickets_link": ("ticket_id", "other_id", "kind"),
    }
    volatile = {"tickets_ticket": ("last_viewed_at",)}

    def fill(self, rng: random.Random) -> None:
        """Make customers and a year of tickets."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def search(
        self,
        text: str = "",
        status: Status | None = None,
        priority: Priority | None = None,
        assignee: str | None = None,
        customer: int | None = None,
        tag: str | None = None,
        overdue: bool = False,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> Page:
        """Find tickets; all conditions must hold. Newest first.

        Args:
            text: Words that subject or body contain, in any case.
            status: Only tickets in this status.
            priority: Only tickets of this priority.
            assignee: Only tickets of this agent; "none" for unassigned ones.
            customer: Only tickets of the customer with this number.
            tag: Only tickets with this tag.
            overdue: Only tickets that are not done and past their due time.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["1"], list[Any]()
        for word in search_words(text):
            where.append("(instr(lower(t.subject), lower(?)) OR instr(lower(t.body), lower(?)))")
            values += [word, word]
        for column, value in (("status", status), ("priority", priority)):
            if value is not None:
                where.append(f"t.{column} = ?")
                values.append(value)
        if assignee == "none":
            where.append("t.assignee IS NULL")
        elif assignee is not None:
            where.append("t.assignee = ?")
            values.append(assignee)
        if customer is not None:
            where.append("t.customer_id = ?")
            values.append(customer)
        if tag is not None:
            where.append("t.id IN (SELECT ticket_id FROM tickets_tag WHERE tag = ?)")
            values.append(tag)
        if overdue:
            where.append("t.status IN ('open', 'pending') AND t.due_at < ?")
            values.append(self.now)
        condition = " AND ".join(where)
        total = self.db.value(f"SELECT count(*) FROM tickets_ticket t WHERE {condition}", *values)
        rows = self.db.all(
            f"{SUMMARY} WHERE {condition} ORDER BY t.created_at DESC, t.id DESC LIMIT ? OFFSET ?",
            *values,
            limit,
            offset,
        )
        return {"total": total, "tickets": [self._summary(row) for row in rows]}

    @reads
    def get(self, ticket: int) -> Ticket:
        """Show a ticket with its comments, tags and links.

        Args:
            ticket: Number of the ticket.
        """
        self._ticket(ticket)
        self.db.execute(
            "UPDATE tickets_ticket SET last_viewed_at = ? WHERE id = ?", self.now, ticket
        )
        return self._whole(ticket)

    @reads
    def list_customers(self, text: str = "", limit: Limit = 20) -> list[Customer]:
        """Find customers by name, company or address.

        Args:
            text: What name, company or e-mail address contain, in any case.
            limit: How many to return at most.
        """
        customers: list[Customer] = self.db.all(
            "SELECT * FROM tickets_customer WHERE instr(lower(name), lower(?1))"
            " OR instr(lower(company), lower(?1)) OR instr(lower(email), lower(?1))"
            " ORDER BY name, id LIMIT ?2",
            text,
            limit,
        )
        return customers

    @reads
    def get_customer(self, customer: int) -> Customer:
        """Show a customer.

        Args:
            customer: Number of the customer.
        """
        return self._customer(customer)

    @reads
    def list_agents(self) -> list[Agent]:
        """List who works at the help desk, and how many tickets each has open."""
        rows = self.db.all(
            "SELECT a.*, (SELECT count(*) FROM tickets_ticket t WHERE t.assignee = a.id"
            " AND t.status IN ('open', 'pending')) AS open_tickets"
            " FROM tickets_agent a ORDER BY a.id"
        )
        return [{**row, "active": bool(row["active"])} for row in rows]

    # --- changing --------------------------------------------------------------------------

    @writes
    def create(
        self,
        customer: int,
        subject: Line,
        body: Text,
        product: Line,
        priority: Priority = "normal",
    ) -> Ticket:
        """Open a ticket.

        Args:
            customer: Number of the customer.
            subject: What it is about, in a line.
            body: What happened.
            product: The product it is about.
            priority: How much it presses.
        """
        plan = self._customer(customer)["plan"]
        number = self.db.insert(
            "tickets_ticket",
            customer_id=customer,
            subject=subject,
            body=body,
            product=product,
            status="open",
            priority=priority,
            created_at=self.now,
            updated_at=self.now,
            due_at=due_at(self.now, plan, priority),
        )
        return self._whole(number)

    @writes
    def update(
        self,
        ticket: int,
        version: int | None = None,
        subject: Line | None = None,
        priority: Priority | None = None,
        status: Literal["open", "pending"] | None = None,
        product: Line | None = None,
    ) -> Ticket:
        """Change fields of a ticket. A new priority moves the due time.

        Args:
            ticket: Number of the ticket.
            version: The version that was seen; refused if the ticket has changed since.
            subject: A new subject.
            priority: A new priority.
            status: Waiting for us (open) or for the customer (pending).
            product: The product it is about.
        """
        row = self._workable(ticket, version)
        wanted = {"subject": subject, "priority": priority, "status": status, "product": product}
        changes: dict[str, Any] = {k: v for k, v in wanted.items() if v is not None and v != row[k]}
        if "priority" in changes:
            plan = self._customer(row["customer_id"])["plan"]
            changes["due_at"] = due_at(row["created_at"], plan, changes["priority"])
        if changes:
            self._change(ticket, **changes)
        return self._whole(ticket)

    @writes
    def assign(self, ticket: int, agent: str | None, version: int | None = None) -> Ticket:
        """Give a ticket to an agent, or take it from its agent.

        Args:
            ticket: Number of the ticket.
            agent: Id of the agent, as list_agents shows it; null to unassign it.
            version: The version that was seen; refused if the ticket has changed since.
        """
        row = self._workable(ticket, version)
        if agent is not None:
            active = self.db.value("SELECT active FROM tickets_agent WHERE id = ?", agent)
            if active is None:
                raise ServiceError(
                    "not_found", f"no agent {agent[:80]!r}; see list_agents", "agent"
                )
            if not active:
                raise ServiceError("conflict", f"agent {agent!r} has left the team", "agent")
        if row["assignee"] != agent:
            self._change(ticket, assignee=agent)
        return self._whole(ticket)

    @writes
    def comment(
        self, ticket: int, body: Text, internal: bool = False, picture: Image | None = None
    ) -> Comment:
        """Write on a ticket. The customer reads what is not internal.

        Args:
            ticket: Number of the ticket.
            body: What to say.
            internal: Whether only the team is to see it.
            picture: Name of an image to show with it.
        """
        self._workable(ticket)
        number = self.db.insert(
            "tickets_comment",
            ticket_id=ticket,
            author=self.actor,
            body=body,
            internal=internal,
            picture=self._keep(picture),
            created_at=self.now,
        )
        self._change(ticket)
        return self._comments("id = ?", number)[0]

    @writes
    def tag(
        self, ticket: int, add: list[Tag] | None = None, remove: list[Tag] | None = None
    ) -> Ticket:
        """Add and remove tags.

        Args:
            ticket: Number of the ticket.
            add: Tags to add; those it has already stay.
            remove: Tags to remove; those it has not are left out.
        """
        self._workable(ticket)
        before = self._tags(ticket)
        wanted = (set(before) | set(add or ())) - set(remove or ())
        for name in sorted(wanted - set(before)):
            self.db.insert("tickets_tag", ticket_id=ticket, tag=name)
        for name in sorted(set(before) - wanted):
            self.db.execute("DELETE FROM tickets_tag WHERE ticket_id = ? AND tag = ?", ticket, name)
        if wanted != set(before):
            self._change(ticket)
        return self._whole(ticket)

    @writes
    def link(self, ticket: int, other: int, kind: LinkKind = "relates_to") -> Ticket:
        """Say that a ticket has to do with another.

        Args:
            ticket: Number of the ticket.
            other: Number of the other ticket.
            kind: What it has to do with it.
        """
        self._workable(ticket)
        self._ticket(other, "other")
        if ticket == other:
            raise ServiceError("invalid", "a ticket cannot be linked to itself", "other")
        seen = self.db.value(
            "SELECT 1 FROM tickets_link WHERE ticket_id = ? AND other_id = ? AND kind = ?",
            ticket,
            other,
            kind,
        )
        if not seen:
            self.db.insert("tickets_link", ticket_id=ticket, other_id=other, kind=kind)
            self._change(ticket)
        return self._whole(ticket)

    @writes
    def close(self, ticket: int, resolution: Text, version: int | None = None) -> Ticket:
        """Close a ticket and say how it was resolved.

        Args:
            ticket: Number of the ticket.
            resolution: How it was resolved; the customer reads this.
            version: The version that was seen; refused if the ticket has changed since.
        """
        self._workable(ticket, version)
        blocking = self.db.column(
            "SELECT l.ticket_id FROM tickets_link l JOIN tickets_ticket t ON t.id = l.ticket_id"
            " WHERE l.other_id = ? AND l.kind = 'blocks' AND t.status IN ('open', 'pending')"
            " ORDER BY 1",
            ticket,
        )
        if blocking:
            numbers = ", ".join(map(str, blocking))
            raise ServiceError(
                "conflict", f"ticket {ticket} is blocked by {numbers}; close what blocks it first"
            )
        self._change(ticket, status="closed", resolution=resolution)
        return self._whole(ticket)

    @writes
    def reopen(self, ticket: int, reason: Text) -> Ticket:
        """Open a closed ticket again; the reason becomes an internal comment.

        Args:
            ticket: Number of the ticket.
            reason: Why.
        """
        row = self._ticket(ticket)
        if row["status"] != "closed":
            raise ServiceError(
                "conflict", f"ticket {ticket} is {row['status']}, not closed", "ticket"
            )
        self.db.insert(
            "tickets_comment",
            ticket_id=ticket,
            author=self.actor,
            body=reason,
            internal=True,
            created_at=self.now,
        )
        self._change(ticket, status="open", resolution=None)
        return self._whole(ticket)

    @writes
    def merge(self, ticket: int, into: int) -> Ticket:
        """Merge a duplicate into another ticket of the same customer's company.

        Its comments and tags move over, and it can no longer be worked on.

        Args:
            ticket: Number of the duplicate.
            into: Number of the ticket that stays.
        """
        row, stays = self._workable(ticket), self._workable(into, field="into")
        if ticket == into:
            raise ServiceError("invalid", "a ticket cannot be merged into itself", "into")
        companies = [self._customer(r["customer_id"])["company"] for r in (row, stays)]
        if companies[0] != companies[1]:
            raise ServiceError(
                "forbidden",
                f"ticket {ticket} is of {companies[0]}, ticket {into} of {companies[1]}; "
                "comments must not reach another company",
                "into",
            )
        db = self.db
        db.execute("UPDATE tickets_comment SET ticket_id = ? WHERE ticket_id = ?", into, ticket)
        db.execute(
            "INSERT OR IGNORE INTO tickets_tag (ticket_id, tag)"
            " SELECT ?, tag FROM tickets_tag WHERE ticket_id = ?",
            into,
            ticket,
        )
        db.execute("DELETE FROM tickets_tag WHERE ticket_id = ?", ticket)
        db.execute(
            "INSERT OR IGNORE INTO tickets_link (ticket_id, other_id, kind)"
            " VALUES (?, ?, 'duplicates')",
            ticket,
            into,
        )
        self._change(ticket, status="merged", merged_into=into)
        self._change(into)
        return self._whole(into)
