"""The simulated user of a task: the file that `[user]` names, `user.toml` (`agentgym.user/1`).

This module defines its fields: the user's identity, knowledge and goal, the states they pass
through and the rules that change them. A scripted user follows the rules; a model plays the user
from the other fields. The behaviour is in `agentgym.user`; docs/users.md is the guide for authors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from agentgym.manifest import Location, Manifest
from agentgym.records import Intent
from agentgym.records.pattern import UNREADABLE, is_cheap
from agentgym.task.replies import SavedReply

FILE = "user.toml"

RESULT = re.compile(r"\{\{[ \t]*(result(?:\.[A-Za-z0-9_]+)*|error)[ \t]*\}\}")
"""Slots that only a call of the user fills: its result, a part of it, or its error."""


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern: it matches at the beginning of a word, in any case.

    Example:
        >>> bool(compile_pattern("refund").search("It was Refunded"))
        True
        >>> bool(compile_pattern("no").search("I know"))
        False
    """
    return re.compile(rf"(?<!\w)(?:{pattern})", re.IGNORECASE)


def _pattern(value: str) -> str:
    try:
        # The slots are filled later, with text that is matched literally.
        plain = re.sub(r"\{\{[^{}\n]*\}\}", "slot", value)
        re.compile(plain)
        compile_pattern(plain)
    except UNREADABLE as error:
        raise ValueError(f"expected a regular expression, got {value!r:.80}: {error}") from error
    if not is_cheap(plain):
        raise ValueError(
            f"expected a pattern that any message is searched for in short time, got {value!r:.80};"
            " use one part of any length at most, repeat no group, and look neither ahead nor back"
        )
    return value


def _lines(value: object) -> object:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) else value


Id: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_-]*$")]
Text: TypeAlias = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Lines: TypeAlias = Annotated[tuple[Text, ...], BeforeValidator(_lines), Field(min_length=1)]
"""One text, or several that are said one after the other; the last one is repeated."""
Pattern: TypeAlias = Annotated[Text, AfterValidator(_pattern)]


class UserManifest(Manifest):
    """The `[user]` table of `task.toml`: the task has a user to write to.

    Attributes:
        script: The file that describes the user.
        reply: The saved replies, if the user hears nothing else; empty for free text.
    """

    script: Literal["user.toml"] = "user.toml"
    reply: tuple[SavedReply, ...] = ()

    @model_validator(mode="after")
    def _has_ids_once(self) -> UserManifest:
        ids = [reply.id for reply in self.reply]
        if twice := next((id for id in ids if ids.count(id) > 1), ""):
            raise ValueError(f"expected another id, a reply is named {twice!r} already")
        return self


class Deed(Manifest):
    """A service tool that the user calls before they answer.

    Attributes:
        tool: Name of the tool.
        arguments: Arguments of the call, with slots; ``{{result.…}}`` refers to the call before.
    """

    tool: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")


class Doing(Manifest):
    """A fact or rule, with optional calls before its text is said.

    Attributes:
        do: Calls to make, in order, up to the first that fails.
        failing: Text that is said if a call fails; ``{{error}}`` is the service's own message.
    """

    do: tuple[Deed, ...] = ()
    failing: Text = "I tried, but it did not work: {{error}}"


class Fact(Doing):
    """Something that the user can be asked for.

    Attributes:
        id: Several facts may share one: the first that fits the present state counts.
        asked: Regular expressions of its names in a question; by default its id.
        heard: Ids of the saved replies that ask for it.
        say: The answer; a second text is for an agent that asks again.
        states: States in which it is said; by default every state.
    """

    id: Id
    asked: tuple[Pattern, ...] = Field(default=())
    heard: tuple[Id, ...] = ()
    say: Lines
    states: tuple[Id, ...] = ()

    @property
    def patterns(self) -> tuple[str, ...]:
        """Names of the fact, as regular expressions."""
        return self.asked or (re.sub("[_-]", " ", self.id),)


class CalledCondition(Manifest):
    """A condition: a tool of the services was called, and answered.

    Attributes:
        tool: Name of the tool.
        arguments: Arguments that the call must have had.
        by: Actor of the call.
        times: Smallest number of such calls.
    """

    tool: Text
    arguments: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    by: Literal["agent", "user", "world"] = "agent"
    times: int = Field(default=1, ge=1)


class RowCondition(Manifest):
    """A condition: a table of the services has a row.

    Attributes:
        table: Name of the table.
        where: Columns and their values.
        absent: Whether the table must lack the row instead.
    """

    table: Text
    where: dict[str, JsonValue] = Field(default_factory=dict)
    absent: bool = False


class Rule(Doing):
    """An action of the user on a message for which all conditions of the rule hold.

    Attributes:
        heard: The message has one of these saved replies.
        intent: The message has one of these intents (`agentgym.records.Intent`).
        said: One of these regular expressions is found in the message.
        unsaid: None of these regular expressions is found in it.
        called: This call has been made.
        row: This row exists.
        told: All of these facts have been told.
        turns: This number of messages has come in this state, including this one.
        most: Largest number of times that the rule may apply.
        say: Text that is said.
        to: The next state.
        leave: Whether the user then leaves.
    """

    heard: tuple[Id, ...] = ()
    intent: tuple[Intent, ...] = ()
    said: tuple[Pattern, ...] = ()
    unsaid: tuple[Pattern, ...] = ()
    called: CalledCondition | None = None
    row: RowCondition | None = None
    told: tuple[Id, ...] = ()
    turns: int | None = Field(default=None, ge=1)
    most: int | None = Field(default=None, ge=1)
    say: Lines
    to: Id | None = None
    leave: bool = False

    @model_validator(mode="after")
    def _leaves_or_goes_on(self) -> Rule:
        if self.leave and self.to is not None:
            raise ValueError(
                "expected either to = '…' or leave = true: a user who leaves has no next state"
            )
        return self


class State(Manifest):
    """A stage of the conversation from the user's view.

    Attributes:
        id: Unique.
        about: One line about the state, for a model that plays the user.
        idle: Answers to messages that fit no rule and no fact, in turn.
        rule: Rules of the state; the first that applies is followed.
    """

    id: Id
    about: Text | None = None
    idle: tuple[Text, ...] = ()
    rule: tuple[Rule, ...] = ()


class Phrases(Manifest):
    """The `[lines]` table: standard answers.

    Attributes:
        unfit: Answers to messages that fit nothing, in turn.
        unknown: Answers to questions that the user cannot answer, in turn.
        again: Prefix of facts that were told before.
        farewell: Last words when the user's patience is over.
    """

    unfit: Lines = (
        "Sorry, I don't follow. What do you mean?",
        "I still don't understand what you are telling me.",
    )
    unknown: Lines = ("I'm afraid I don't know that.", "I really don't know, sorry.")
    again: Text = "As I said:"
    farewell: Text = "This is getting us nowhere. I'll stop here."


class UserScript(Manifest):
    """`user.toml`, with its slots unfilled.

    Attributes:
        name: Name of the user.
        persona: Character and style of writing; for a model.
        goal: Goal of the user; for a model, and for readers of the file.
        behaviour: What the user always or never does; for a model.
        opening: Message before the agent begins; if absent, the user waits.
        tools: Globs of service tools that a model may call as the user.
        own: Globs of those tools of the user that the agent does not have.
        patience: Number of messages in a row without progress after which the user leaves.
        start: The first state; by default the first in the file.
        lines: Standard answers.
        fact: Facts that the user can be asked for.
        state: Stages of the conversation.
        always: Rules of every state, after its own.
    """

    schema_version: Literal["agentgym.user/1"]
    name: Text
    persona: Text | None = None
    goal: Text
    behaviour: tuple[Text, ...] = ()
    opening: Text | None = None
    tools: tuple[Text, ...] = ()
    own: tuple[Text, ...] = ()
    patience: int = Field(default=4, ge=1, le=1000)
    start: Id | None = None
    lines: Phrases = Phrases()
    fact: tuple[Fact, ...] = ()
    state: tuple[State, ...] = Field(min_length=1)
    always: tuple[Rule, ...] = ()

    @property
    def first_state(self) -> str:
        """Id of the first state."""
        return self.start or self.state[0].id

    def doings(self) -> Iterator[tuple[Location, Doing]]:
        """Yield every fact and rule with its place in the file."""
        for index, fact in enumerate(self.fact):
            yield ("fact", index), fact
        yield from self.rules()

    def rules(self) -> Iterator[tuple[Location, Rule]]:
        """Yield every rule with its place in the file."""
        for place, state in enumerate(self.state):
            for index, rule in enumerate(state.rule):
                yield ("state", place, "rule", index), rule
        for index, rule in enumerate(self.always):
            yield ("always", index), rule

    @property
    def reach(self) -> tuple[str, ...]:
        """Globs of all tools that the user calls or may call."""
        deeds = [deed.tool for _, doing in self.doings() for deed in doing.do]
        return tuple(dict.fromkeys([*self.tools, *self.own, *deeds]))
