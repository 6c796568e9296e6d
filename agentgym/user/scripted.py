"""The scripted user: a state machine over knowledge and wishes. Equal messages get equal answers.

A message is answered in this order. First the user tells every fact that it asks for, in any
state, or the fact that it doubts. Then the first rule applies whose conditions hold, among those
of the state and then among those of all states. If no fact, rule or intent fits, the user asks
back. A message without progress costs patience.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentgym.errors import ConfigError
from agentgym.manifest import show_path
from agentgym.protocols import UserWorld
from agentgym.records import Json, Problem, UserCall, UserMessage, UserTurn
from agentgym.task.model import Instance
from agentgym.task.user import (
    FILE,
    CalledCondition,
    Doing,
    Fact,
    RowCondition,
    Rule,
    UserScript,
)
from agentgym.threads import COMPUTING
from agentgym.user.asking import Message, read
from agentgym.user.slots import Slots, UnfilledError


@dataclass(frozen=True, slots=True)
class _Said:
    """The effect of one fact or rule: the words, and whether its calls worked."""

    text: str
    worked: bool = True


class ScriptedUser:
    """Follows the script.

    Args:
        argument: Must be empty.
        script: Description of the user.
        instance: The task with its parameters.

    Attributes:
        state: Id of the current state.

    Raises:
        ConfigError: The argument is not empty.
    """

    def __init__(self, argument: str, script: UserScript, instance: Instance) -> None:
        if argument:
            raise ConfigError(f"user 'scripted' takes no argument, got {argument!r}")
        self._script = script
        manifest = instance.task.manifest
        self._questions = {reply.id for reply in manifest.replies if reply.asks}
        self._slots = Slots(instance.params, show_path(instance.task.folder / FILE))
        self.state = script.first_state
        self._states = {state.id: state for state in script.state}
        self._turns = 0
        self._told: Counter[str] = Counter()
        self._last_told = ""
        self._applied: Counter[int] = Counter()
        self._lost: Counter[str] = Counter()
        self._useless = 0
        self._calls: list[UserCall] = []

    def problems(self) -> Sequence[Problem]:
        """Return nothing: a script needs no other program."""
        return ()

    async def start(self, world: UserWorld) -> str:
        """Begin; see `agentgym.protocols.User`."""
        self._world = world
        return self._slots.text(self._script.opening or "")

    async def reply(self, message: UserMessage, recorded: UserTurn | None = None) -> UserTurn:
        """Answer by the script; a recorded turn must result again by itself."""
        # A long message and the calls take their time, and other episodes share the loop.
        return await COMPUTING.finish(self._answer, message)

    def _answer(self, message: UserMessage) -> UserTurn:
        heard = self._heard(message)
        self._calls, self._turns = [], self._turns + 1
        told, news = self._tell(heard)
        spoken, useful, left = list(told), news, False
        if (rule := self._fitting(heard)) is not None:
            first = not self._applied[id(rule)]
            said = self._speak(rule, rule.say, self._applied[id(rule)])
            spoken.append(said.text)
            if said.worked:
                useful |= first or rule.to not in (None, self.state)
                left = rule.leave
                self._follow(rule)
        understood = bool(spoken or heard.intents or heard.replies)
        self._useless = 0 if useful else self._useless + 1
        if not left and self._useless >= self._script.patience:
            spoken.append(self._slots.text(self._script.lines.farewell))
            left = True
        if not spoken:
            spoken.append(self._puzzled(heard))
        return UserTurn(" ".join(spoken), left, tuple(self._calls), self.state, understood)

    def _heard(self, message: UserMessage) -> Message:
        """Return a message as the user understands it; saved replies need no reading."""
        if not message.replies:
            return read(message.text)
        sent = [reply.reply for reply in message.replies]
        questions = [id for id in sent if id in self._questions]
        return Message(message.text, (), replies=frozenset(sent), questions=frozenset(questions))

    def fork(self, world: UserWorld) -> ScriptedUser:
        """Return another user who remembers the same."""
        other = copy.copy(self)
        other._world = world
        other._told, other._applied = self._told.copy(), self._applied.copy()
        other._lost, other._calls = self._lost.copy(), []
        return other

    async def close(self) -> None:
        """Do nothing; the user holds no resources."""

    # --- what they know --------------------------------------------------------------------

    def _tell(self, heard: Message) -> tuple[list[str], bool]:
        """Return the answers to the questions, and whether one of them is news."""
        answers, repeated = list[str](), list[str]()
        news = False
        for fact in self._asked(heard):
            times = self._told[fact.id]
            said = self._speak(fact, fact.say, times)
            old = said.worked and times >= len(fact.say)
            (repeated if old else answers).append(said.text)
            if said.worked:
                self._told[fact.id] += 1
                self._last_told = fact.id
                news |= not old
        if repeated:
            again = self._slots.text(self._script.lines.again)
            answers.append(" ".join([again, *repeated]))
        return answers, news

    def _asked(self, heard: Message) -> list[Fact]:
        """Return the facts that a message asks for, or else the one that it asks to check."""
        known = list(self._known())
        if heard.replies:
            return [fact for fact in known if not heard.replies.isdisjoint(fact.heard)]
        asked = [fact for fact in known if heard.asks(self._slots.patterns(fact.patterns))]
        if asked or "doubts" not in heard.intents or not heard.asking:
            return asked
        told = [fact for fact in known if self._told[fact.id]]
        named = [fact for fact in told if heard.says(self._slots.patterns(fact.patterns))]
        return named or [fact for fact in told if fact.id == self._last_told]

    def _known(self) -> Iterator[Fact]:
        """Yield the facts that can be asked for now, the first of each id."""
        seen = set()
        for fact in self._script.fact:
            if fact.id not in seen and (not fact.states or self.state in fact.states):
                seen.add(fact.id)
                yield fact

    # --- what they do ----------------------------------------------------------------------

    def _fitting(self, heard: Message) -> Rule | None:
        """Return the first rule that applies."""
        rules = (*self._states[self.state].rule, *self._script.always)
        return next((rule for rule in rules if self._holds(rule, heard)), None)

    def _holds(self, rule: Rule, heard: Message) -> bool:
        patterns = self._slots.patterns
        return (
            (rule.most is None or self._applied[id(rule)] < rule.most)
            and (rule.turns is None or self._turns >= rule.turns)
            and (not rule.heard or not heard.replies.isdisjoint(rule.heard))
            and (not rule.intent or not heard.intents.isdisjoint(rule.intent))
            and (not rule.said or heard.says(patterns(rule.said)))
            and not heard.says(patterns(rule.unsaid))
            and all(self._told[fact] for fact in rule.told)
            and (rule.called is None or self._was_called(rule.called))
            and (rule.row is None or self._is_there(rule.row))
        )

    def _was_called(self, condition: CalledCondition) -> bool:
        wanted = self._slots.object(condition.arguments)
        found = [
            entry
            for entry in self._world.calls()
            if entry.ok
            and entry.tool == condition.tool
            and entry.actor == condition.by
            and wanted.items() <= _by_name(entry.arguments).items()
        ]
        return len(found) >= condition.times

    def _is_there(self, condition: RowCondition) -> bool:
        where = self._slots.object(condition.where)
        return bool(self._world.rows(condition.table, where)) is not condition.absent

    def _follow(self, rule: Rule) -> None:
        self._applied[id(rule)] += 1
        if rule.to is not None and rule.to != self.state:
            self.state, self._turns = rule.to, 0

    def _speak(self, doing: Doing, lines: Sequence[str], times: int) -> _Said:
        """Make the calls first, then say the line of this time, or why the calls failed."""
        slots = self._slots
        try:
            for deed in doing.do:
                arguments = slots.object(deed.arguments)
                self._calls.append(UserCall(deed.tool, arguments))
                reply = self._world.call(deed.tool, arguments)
                if reply.error is not None:
                    slots = replace(slots, error=reply.error.message)
                    return _Said(slots.text(doing.failing), worked=False)
                slots = replace(slots, result=reply.result)
            return _Said(slots.text(lines[min(times, len(lines) - 1)]))
        except UnfilledError as error:
            slots = replace(slots, error=str(error))
            return _Said(slots.text(doing.failing), worked=False)

    # --- what they do not understand -------------------------------------------------------

    def _puzzled(self, heard: Message) -> str:
        """Return the answer to a message that fits nothing: the next of the matching lines."""
        phrases, idle = self._script.lines, self._states[self.state].idle
        if heard.asks_openly:
            kind, lines = "unknown", phrases.unknown
        elif idle and (heard.intents or heard.replies):
            kind, lines = f"idle {self.state}", idle
        else:
            kind, lines = "unfit", phrases.unfit
        line = lines[self._lost[kind] % len(lines)]
        self._lost[kind] += 1
        return self._slots.text(line)


def _by_name(arguments: object) -> Mapping[str, Json]:
    return arguments if isinstance(arguments, dict) else {}
