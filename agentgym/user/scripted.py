"""The scripted user: a state machine over what they know and want. The same words, the same answer.

Owns how a message is answered. First every fact that it asks for is told, in whatever state, or the
fact that it doubts; then the first rule applies whose conditions hold, of the state's own and then
of those that always hold. A message that no fact, rule or intent fits is not understood: the user
asks back. What leads nowhere costs patience.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agentgym.errors import ConfigError
from agentgym.manifest import show_path
from agentgym.protocols import UserWorld
from agentgym.records import Json, Problem, UserCall, UserTurn
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
from agentgym.user.asking import Message, read
from agentgym.user.slots import Slots, UnfilledError


@dataclass(frozen=True, slots=True)
class _Said:
    """What one fact or rule led to: the words, and whether its calls worked."""

    text: str
    worked: bool = True


class ScriptedUser:
    """Follows the script.

    Args:
        argument: There is none.
        script: Who they are.
        instance: The task with its parameters.

    Attributes:
        state: Id of the state they are in.

    Raises:
        ConfigError: There is an argument.
    """

    def __init__(self, argument: str, script: UserScript, instance: Instance) -> None:
        if argument:
            raise ConfigError(f"user 'scripted' takes no argument, got {argument!r}")
        self._script = script
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
        """Return nothing: a script needs nobody."""
        return ()

    async def start(self, world: UserWorld) -> str:
        """Begin; see `agentgym.protocols.User`."""
        self._world = world
        return self._slots.text(self._script.opening or "")

    async def reply(self, message: str, recorded: UserTurn | None = None) -> UserTurn:
        """Answer by the script; what is recorded must come out again by itself."""
        heard = read(message)
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
        understood = bool(spoken or heard.intents)
        self._useless = 0 if useful else self._useless + 1
        if not left and self._useless >= self._script.patience:
            spoken.append(self._slots.text(self._script.lines.farewell))
            left = True
        if not spoken:
            spoken.append(self._puzzled(heard))
        return UserTurn(" ".join(spoken), left, tuple(self._calls), self.state, understood)

    def fork(self, world: UserWorld) -> ScriptedUser:
        """Return another user who remembers the same."""
        other = copy.copy(self)
        other._world = world
        other._told, other._applied = self._told.copy(), self._applied.copy()
        other._lost, other._calls = self._lost.copy(), []
        return other

    async def close(self) -> None:
        """Nothing to release."""

    # --- what they know --------------------------------------------------------------------

    def _tell(self, heard: Message) -> tuple[list[str], bool]:
        """Return the answers to what is asked for, and whether one of them is news."""
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
        asked = [fact for fact in known if heard.asks(self._slots.patterns(fact.patterns))]
        if asked or "doubts" not in heard.intents or not heard.asking:
            return asked
        told = [fact for fact in known if self._told[fact.id]]
        named = [fact for fact in told if heard.says(self._slots.patterns(fact.patterns))]
        return named or [fact for fact in told if fact.id == self._last_told]

    def _known(self) -> Iterator[Fact]:
        """Yield what can be asked for now, of each id the first."""
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
        """Do what comes first, then say it: the line of this time, or why it did not work."""
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
        """Return what they say to what nothing fits: the next line of those that go with it."""
        phrases, idle = self._script.lines, self._states[self.state].idle
        if heard.asks_openly:
            kind, lines = "unknown", phrases.unknown
        elif idle and heard.intents:
            kind, lines = f"idle {self.state}", idle
        else:
            kind, lines = "unfit", phrases.unfit
        line = lines[self._lost[kind] % len(lines)]
        self._lost[kind] += 1
        return self._slots.text(line)


def _by_name(arguments: object) -> Mapping[str, Json]:
    return arguments if isinstance(arguments, dict) else {}
