"""Chat: channels with members, threads, mentions and reactions, as one colleague sees them.

Only members of a private channel see it. People are mentioned by @handle, as contacts show it.
People edit or delete only their own messages; archived channels accept no messages.
"""

from __future__ import annotations

import random
from typing import Annotated, Any

from pydantic import Field

from agentgym.services import ServiceError, reads, writes
from agentgym.services.arguments import Limit, Offset, search_words

from .rules import ME, _Rules
from .seeding import fill
from .shapes import Channel, ChannelName, Emoji, Member, Message, Words


class Chat(_Rules):
    """The company's chat."""

    after = ("contacts", "tickets", "calendar", "files", "sheets", "knowledge")
    seen = {
        "chat_channel": ("name", "topic"),
        "chat_member": ("channel_id", "person_id"),
        "chat_message": ("channel_id", "thread_id", "text"),
        "chat_mention": ("message_id", "person_id"),
        "chat_reaction": ("message_id", "person_id", "emoji"),
    }

    def fill(self, rng: random.Random) -> None:
        """Create channels and some weeks of messages."""
        fill(self, rng)

    # --- reading ---------------------------------------------------------------------------

    @reads
    def list_channels(self, text: str = "", mine: bool = False) -> list[Channel]:
        """List the channels that you can see.

        Args:
            text: What name or topic contain, in any case.
            mine: Only those that you are a member of.
        """
        numbers = self.db.column(
            "SELECT id FROM chat_channel WHERE instr(lower(name || ' ' || topic), lower(?))"
            " ORDER BY name",
            text,
        )
        found = [self._shown(n) for n in numbers if self._sees(n)]
        return [channel for channel in found if channel["member"] or not mine]

    @reads
    def list_members(self, channel: int) -> list[Member]:
        """List who is in a channel.

        Args:
            channel: Number of the channel.
        """
        self._channel(channel)
        return self.db.all(  # type: ignore[return-value]
            "SELECT p.id AS person, p.name, p.handle, p.status FROM chat_member m"
            " JOIN contacts_person p ON p.id = m.person_id WHERE m.channel_id = ? ORDER BY p.name",
            channel,
        )

    @reads
    def read(self, channel: int, before: int | None = None, limit: Limit = 20) -> list[Message]:
        """Show the latest messages of a channel, the oldest of them first; threads stay folded.

        Args:
            channel: Number of the channel.
            before: Only messages before the one of this number.
            limit: How many to return at most.
        """
        self._channel(channel)
        numbers = self.db.column(
            "SELECT id FROM chat_message WHERE channel_id = ?1 AND thread_id IS NULL"
            " AND NOT deleted AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3",
            channel,
            before,
            limit,
        )
        return [self._whole(number) for number in reversed(numbers)]

    @reads
    def get_thread(self, message: int) -> list[Message]:
        """Show a message and the answers to it.

        Args:
            message: Number of the message that began the thread, or of any in it.
        """
        row = self._message(message)
        numbers = self.db.column(
            "SELECT id FROM chat_message WHERE (id = ?1 OR thread_id = ?1) AND NOT deleted"
            " ORDER BY id",
            row["thread_id"] or message,
        )
        return [self._whole(number) for number in numbers]

    @reads
    def search(
        self,
        text: str = "",
        channel: int | None = None,
        author: int | None = None,
        mentions: int | None = None,
        limit: Limit = 20,
        offset: Offset = 0,
    ) -> list[Message]:
        """Find messages in the channels that you can see, newest first; all conditions hold.

        Args:
            text: Words that the message contains, in any case.
            channel: Only messages in the channel of this number.
            author: Only messages of the person of this number.
            mentions: Only messages that mention the person of this number.
            limit: How many to return at most.
            offset: How many to leave out first.
        """
        where, values = ["NOT m.deleted"], list[Any]()
        for word in search_words(text):
            where.append("instr(lower(m.text), lower(?))")
            values.append(word)
        conditions = {
            "m.channel_id = ?": channel,
            "m.author_id = ?": author,
            "m.id IN (SELECT message_id FROM chat_mention WHERE person_id = ?)": mentions,
        }
        for condition, value in conditions.items():
            if value is not None:
                where.append(condition)
                values.append(value)
        numbers = self.db.column(
            "SELECT m.id FROM chat_message m JOIN chat_channel c ON c.id = m.channel_id"
            f" WHERE {' AND '.join(where)} AND (c.kind = 'public' OR c.id IN"
            " (SELECT channel_id FROM chat_member WHERE person_id = ?))"
            " ORDER BY m.id DESC LIMIT ? OFFSET ?",
            *values,
            ME,
            limit,
            offset,
        )
        return [self._whole(number) for number in numbers]

    # --- changing --------------------------------------------------------------------------

    @writes
    def post(
        self, channel: int, text: Words, thread: int | None = None, author: int = ME
    ) -> Message:
        """Write in a channel that you are a member of. @handle mentions somebody.

        Args:
            channel: Number of the channel.
            text: What to say.
            thread: Number of the message to answer in its thread.
            author: Who writes; only yourself.
        """
        if author != ME and not self.unlimited:
            raise ServiceError("forbidden", "others write for themselves", "author")
        self._writable(channel, author)
        if thread is not None:
            row = self._message(thread, "thread", author)
            if row["channel_id"] != channel:
                raise ServiceError(
                    "invalid", f"message {thread} is in channel {row['channel_id']}", "thread"
                )
            thread = row["thread_id"] or thread
        number = self.db.insert(
            "chat_message",
            channel_id=channel,
            thread_id=thread,
            author_id=author,
            text=text,
            sent_at=self.now,
        )
        self._mention(number, text)
        return self._whole(number)

    @writes
    def open_direct(
        self, people: Annotated[list[int], Field(min_length=1, max_length=8)]
    ) -> Channel:
        """Open the conversation between you and some colleagues; there is one for the same people.

        Args:
            people: Numbers of colleagues.
        """
        everyone = sorted({ME, *people})
        if len(everyone) < 2:
            raise ServiceError("invalid", "expected somebody else than yourself", "people")
        for person in everyone:
            self._colleague(person, "people")
        name = "direct-" + "-".join(map(str, everyone))
        number = self.db.value("SELECT id FROM chat_channel WHERE name = ?", name)
        return self._shown(number or self._make(name, "direct", "", everyone))

    @writes
    def edit(self, message: int, text: Words) -> Message:
        """Change a message of yours.

        Args:
            message: Number of the message.
            text: What it says now.
        """
        self._own(message)
        self.db.execute(
            "UPDATE chat_message SET text = ?, edited_at = ? WHERE id = ?", text, self.now, message
        )
        self.db.execute("DELETE FROM chat_mention WHERE message_id = ?", message)
        self._mention(message, text)
        return self._whole(message)

    @writes
    def delete(self, message: int) -> bool:
        """Delete a message of yours; answers in its thread stay.

        Args:
            message: Number of the message.
        """
        self._own(message)
        self.db.execute("UPDATE chat_message SET deleted = 1 WHERE id = ?", message)
        return True

    @writes
    def react(self, message: int, emoji: Emoji) -> Message:
        """React to a message; the same once more takes it back.

        Args:
            message: Number of the message.
            emoji: Name of the emoji, such as thumbsup.
        """
        row = self._message(message)
        self._writable(row["channel_id"], ME)
        key = (message, ME, emoji)
        seen = self.db.execute(
            "DELETE FROM chat_reaction WHERE message_id = ? AND person_id = ? AND emoji = ?", *key
        ).rowcount
        if not seen:
            self.db.insert("chat_reaction", message_id=message, person_id=ME, emoji=emoji)
        return self._whole(message)

    @writes
    def create_channel(
        self,
        name: ChannelName,
        people: Annotated[list[int], Field(max_length=100)],
        topic: Annotated[str, Field(max_length=500)] = "",
        private: bool = False,
    ) -> Channel:
        """Make a channel with you and some colleagues in it.

        Args:
            name: Name, in small letters, digits and dashes.
            people: Numbers of colleagues.
            topic: What it is for.
            private: Whether only members see it.
        """
        if self.db.value("SELECT 1 FROM chat_channel WHERE name = ?", name):
            raise ServiceError("conflict", f"there is a channel {name!r}", "name")
        for person in people:
            self._colleague(person, "people")
        kind = "private" if private else "public"
        return self._shown(self._make(name, kind, topic, sorted({ME, *people})))

    @writes
    def join(self, channel: int) -> Channel:
        """Become a member of a public channel.

        Args:
            channel: Number of the channel.
        """
        self._quiet(self._channel(channel))
        self._add(channel, ME)
        return self._shown(channel)

    @writes
    def leave(self, channel: int) -> bool:
        """Leave a channel; others have to invite you back into a private one.

        Args:
            channel: Number of the channel.
        """
        row = self._channel(channel)
        if row["kind"] == "direct" or not self._is_member(channel, ME):
            raise ServiceError("conflict", f"you cannot leave channel {channel}", "channel")
        self.db.execute(
            "DELETE FROM chat_member WHERE channel_id = ? AND person_id = ?", channel, ME
        )
        return True

    @writes
    def invite(self, channel: int, people: Annotated[list[int], Field(max_length=100)]) -> Channel:
        """Make colleagues members of a channel that you are in.

        Args:
            channel: Number of the channel.
            people: Numbers of colleagues; who is in it already stays.
        """
        row = self._writable(channel, ME)
        if row["kind"] == "direct":
            raise ServiceError("conflict", "a conversation is of those who began it", "channel")
        for person in people:
            self._colleague(person, "people")
            self._add(channel, person)
        return self._shown(channel)
