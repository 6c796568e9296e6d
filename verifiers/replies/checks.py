"""Check pack `replies`: what an agent says to a user who hears only saved replies.

Channel: trace. For tasks with `[[user.reply]]` in `task.toml`: each message is made of replies with
an id and typed fields, so no text is read. In the arguments, a *reply* is an id or a table:

- `reply`: the id, or a list of ids;
- `fields`: the value of each of its fields: text, a number, true, false, a list (compared as a set)
  or a table of comparisons, as in rows: `{ one_of = ["granted", "to be approved"] }`;
- `after`: calls (tables of `tool`, `arguments`), all of which have succeeded before it is sent;
- `before`: calls, none of which has been made before it is sent; failed calls do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.records import Effect, SentReply, Step
from agentgym.verify.calls import CallLike, call_like, step_succeeded
from agentgym.verify.field_values import field_matcher, show_value
from agentgym.verify.messages.sources import user_text
from agentgym.verify.values import result


def only(evidence: Evidence, allowed: Sequence[Any]) -> CheckResult:
    """Every reply that the user heard is one of these, with these values, at the right time.

    Channel: trace. Use it as a gate of phase safety. It passes if the user heard nothing. A reply
    with a field that `fields` does not name fails.

    Example:
        use = "replies.only"
        [checkpoint.with]
        allowed = [
          { reply = ["greeting", "ask_ticket", "sorry"] },
          { reply = "credit", fields = { amount = 297 }, after = [{ tool = "sheets_*" }] },
        ]

    Args:
        evidence: Of the episode.
        allowed: The replies; several tables may allow one reply with several values.
    """
    expected = _read("allowed", allowed)
    heard = 0
    for step in evidence.steps:
        sent = _sent(step)
        if not sent and user_text(step) is not None and step_succeeded(step):
            return result(False, f"step {step.index} has free text, expected saved replies")
        for reply in sent:
            heard += 1
            faults = [
                one.fault(reply, step, evidence.steps) for one in expected if reply.reply in one.ids
            ]
            if all(faults):
                why = "; ".join(dict.fromkeys(faults)) or "it is not among those allowed"
                return result(False, f"step {step.index} says {reply.reply!r}: {why}")
    return result(True, f"{heard} replies, all of them allowed")


def sent(
    evidence: Evidence, replies: Sequence[Any], before: Sequence[Mapping[str, Any]] = ()
) -> CheckResult:
    """The user heard each of these replies, with these values.

    Channel: trace. Use it for what a policy demands: a question before an action, a refusal, an
    amount. A field that `fields` does not name may have any value.

    Example:
        use = "replies.sent"
        with.replies = ["ask_ticket", "ask_address"]
        with.before = [{ tool = "tickets_assign" }]

    Args:
        evidence: Of the episode.
        replies: The replies; of a table with several ids, one of them has to be sent.
        before: Calls that must wait for all of these replies; failed calls do not count.
    """
    expected = [_with_limit(one, before) for one in _read("replies", replies)]
    missing: list[str] = []
    for one in expected:
        faults = [
            one.fault(reply, step, evidence.steps, all_fields=False)
            for step in evidence.steps
            for reply in _sent(step)
            if reply.reply in one.ids
        ]
        if all(faults):
            missing.append(f"{' or '.join(one.ids)} ({faults[-1] if faults else 'never sent'})")
    if missing:
        return result(False, f"not said: {', '.join(missing)}")
    return result(True, f"said: {', '.join(' or '.join(one.ids) for one in expected)}")


def heard_out(evidence: Evidence) -> CheckResult:
    """The user had nothing more to say: they have left the conversation.

    Channel: trace. Use it if the instruction says that the task is done when the user has left.

    Example:
        use = "replies.heard_out"

    Args:
        evidence: Of the episode.
    """
    turns = [event.turn for step in evidence.steps for event in step.events if event.turn]
    if any(turn.left for turn in turns):
        return result(True, "the user has left the conversation")
    return result(False, f"the user is still there after {len(turns)} answers")


@dataclass(frozen=True)
class _Expected:
    """A reply as a rubric describes it."""

    ids: Sequence[str]
    fields: Mapping[str, Any]
    matches: Mapping[str, Callable[[Any], bool]]
    after: Sequence[CallLike]
    before: Sequence[CallLike]

    def fault(
        self, reply: SentReply, at: Step, steps: Sequence[Step], *, all_fields: bool = True
    ) -> str:
        """Return what is wrong with a reply of one of these ids; empty if nothing is."""
        for name, value in reply.fields.items():
            if name not in self.matches and all_fields:
                return f"{name} is {show_value(value)}, which is not allowed"
        for name, matches in self.matches.items():
            value = reply.fields.get(name)
            if not matches(value):
                return f"{name} is {show_value(value)}, expected {show_value(self.fields[name])}"
        done = [step for step in steps if step.index < at.index]
        for call in self.after:
            if not any(call.fits(step, too_long=False) for step in done if step_succeeded(step)):
                return f"not before {call} has succeeded"
        for call in self.before:
            made = [step for step in done if step.observation.effect is not Effect.ERROR]
            if any(call.fits(step, too_long=True) for step in made):
                return f"only before {call}"
        return ""


def _with_limit(one: _Expected, before: Sequence[Mapping[str, Any]]) -> _Expected:
    calls = [*one.before, *_calls("before", before)]
    return _Expected(one.ids, one.fields, one.matches, one.after, calls)


def _sent(step: Step) -> Sequence[SentReply]:
    return tuple(reply for event in step.events if event.message for reply in event.message.replies)


def _read(name: str, tables: object) -> list[_Expected]:
    """Read replies of a rubric. Raises VerifierError."""
    if isinstance(tables, (str, Mapping)) or not isinstance(tables, Sequence) or not tables:
        raise VerifierError(f"{name}: expected a list of replies, got {tables!r}")
    return list(_each(name, tables))


def _each(name: str, tables: Sequence[Any]) -> Iterator[_Expected]:
    for number, given in enumerate(tables):
        table = {"reply": given} if isinstance(given, str) else given
        where = f"{name}[{number}]"
        known = {"reply", "fields", "after", "before"}
        if not isinstance(table, Mapping) or "reply" not in table or not set(table) <= known:
            raise VerifierError(
                f"{where}: expected an id or a table of reply, fields, after and before, "
                f"got {given!r}"
            )
        ids = [table["reply"]] if isinstance(table["reply"], str) else table["reply"]
        if not isinstance(ids, Sequence) or not ids or not all(isinstance(i, str) for i in ids):
            raise VerifierError(f"{where}.reply: expected an id or a list of ids, got {ids!r}")
        fields = table.get("fields", {})
        if not isinstance(fields, Mapping):
            raise VerifierError(f"{where}.fields: expected a table of values, got {fields!r}")
        matches = {field: field_matcher(field, value) for field, value in fields.items()}
        calls = [_calls(f"{where}.{key}", table.get(key, ())) for key in ("after", "before")]
        yield _Expected(ids, fields, matches, *calls)


def _calls(where: str, tables: object) -> list[CallLike]:
    if isinstance(tables, (str, Mapping)) or not isinstance(tables, Sequence):
        raise VerifierError(f"{where}: expected a list of tables of tool, got {tables!r}")
    return [call_like(table) for table in tables]
