"""Check pack `answers`: the agent's final answer, the argument of `submit`.

Channel: trace (`answer`). A missing answer is a fail, and so is an empty one if an answer is asked
for. An answer is read as a whole: a correct item in a list of guesses does not count. `normal`
always normalises text in this way: Unicode NFKC, case folding, runs of white space as one space,
quotes and a full stop around it dropped.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any

from agentgym import CheckResult, Evidence, VerifierError
from agentgym.verify import facts as facts_in_text
from agentgym.verify.answer_form import form_values
from agentgym.verify.facts import MONTHS
from agentgym.verify.field_values import field_matcher, show_value
from agentgym.verify.giving_up import ALREADY_DONE, given_up
from agentgym.verify.matching import normal as normal_text
from agentgym.verify.stated_causes import (
    MOST_CHARS,
    Cause,
    causes,
    contradiction,
    misstated,
    told_deed,
)
from agentgym.verify.values import brief, is_number, result

_ANSWER_CHARS = 64 * 2**10
_NUMBER = re.compile(
    r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d{1,3})?)(.*)", re.DOTALL
)
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)? ([a-z]{1,20}),? (\d{4})")
_MONTH_FIRST = re.compile(r"([a-z]{1,20}) (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_WORD = re.compile(r"[^\W_]+")
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def exact(evidence: Evidence, text: str | float, strip: bool = True) -> CheckResult:
    """The answer is exactly this text.

    Channel: trace.

    Example:
        use = "answers.exact"
        with = { text = "{{ip}}" }

    Args:
        evidence: Evidence of the episode.
        text: The expected answer.
        strip: Ignore white space at both ends.
    """
    wanted = _text("text", text)
    seen = _answer(evidence)
    if strip:
        seen, wanted = seen.strip(), wanted.strip()
    return result(seen == wanted, f"answered {brief(seen)}, expected {brief(wanted)}")


def normal(evidence: Evidence, text: str | float) -> CheckResult:
    """The answer is this text; case, spacing, width, quotes and a full stop do not count.

    Channel: trace.

    Example:
        use = "answers.normal"
        with = { text = "Grace Hopper" }
    """
    wanted = _normal(_text("text", text))
    seen = _answer(evidence)
    return result(_normal(seen) == wanted, f"answered {brief(seen)}, expected {brief(wanted)}")


def one_of(evidence: Evidence, texts: Sequence[str | float]) -> CheckResult:
    """The answer is one of these texts, compared as `normal` does.

    Channel: trace.

    Example:
        use = "answers.one_of"
        with = { texts = ["web-1", "web-1.internal"] }
    """
    wanted = [_normal(text) for text in _texts("texts", texts)]
    seen = _answer(evidence)
    return result(_normal(seen) in wanted, f"answered {brief(seen)}, expected one of {wanted[:5]}")


def number(
    evidence: Evidence,
    value: float,
    tolerance: float = 0.0,
    relative: float = 0.0,
    units: Sequence[str] = (),
) -> CheckResult:
    """The answer is one number near this value, followed by one of the units if units are given.

    Channel: trace. ``1,234.5`` and ``1.2e3`` are numbers; a number with a decimal comma is not. The
    comparison is made in decimal, so a tolerance of 0.1 means 0.1.

    Example:
        use = "answers.number"
        with = { value = 12.5, tolerance = 0.05, units = ["", "GB", "gigabytes"] }

    Args:
        evidence: Evidence of the episode.
        value: The expected number.
        tolerance: Largest absolute difference.
        relative: Largest difference as a share of `value`; the wider of the two limits counts.
        units: Texts allowed after the number, compared as `normal` does; "" allows no unit.
    """
    for name, given in (("value", value), ("tolerance", tolerance), ("relative", relative)):
        if not is_number(given) or not math.isfinite(given) or (name != "value" and given < 0):
            raise VerifierError(f"{name}: expected a finite number, got {given!r}")
    allowed = [_normal(unit) for unit in _texts("units", units)] if units else [""]
    wanted = Decimal(str(value))
    reach = max(Decimal(str(tolerance)), Decimal(str(relative)) * abs(wanted))
    text = _answer(evidence).strip()
    found = _NUMBER.fullmatch(unicodedata.normalize("NFKC", text).replace("\u2212", "-"))
    try:
        seen = Decimal((found[1] if found else "").replace(",", ""))
    except InvalidOperation:
        return result(False, f"answered {brief(text)}, expected a number")
    unit = found[2] if found else ""
    if _normal(unit) not in allowed:
        return result(False, f"answered {brief(text)}, expected a unit of {allowed[:5]}")
    return result(abs(seen - wanted) <= reach, f"answered {brief(text)}, expected {value}")


def date_is(evidence: Evidence, day: str) -> CheckResult:
    """The answer is this date: ISO 8601, or with the month in English letters.

    Channel: trace. ``2026-03-04``, ``4 March 2026``, ``Mar 4th, 2026`` are dates; ``03/04/2026`` is
    ambiguous and does not count.

    Example:
        use = "answers.date_is"
        with = { day = "2026-03-04" }
    """
    wanted = _date(day) if isinstance(day, str) and _ISO.fullmatch(day) else None
    if wanted is None:
        raise VerifierError(f"day: expected YYYY-MM-DD, got {day!r}")
    seen = _answer(evidence)
    return result(_date(_normal(seen)) == wanted, f"answered {brief(seen)}, expected {day}")


def items(
    evidence: Evidence,
    items: Sequence[str | float],
    any_order: bool = False,
    separator: str = ",",
) -> CheckResult:
    """The answer lists exactly these items, each compared as `normal` does.

    Channel: trace. Items are divided by separators or by line ends; bullets and numbering are
    dropped.

    Example:
        use = "answers.items"
        with = { items = ["ada", "grace"], any_order = true }

    Args:
        evidence: Evidence of the episode.
        items: The expected items.
        any_order: Compare as multisets: every item as often as expected.
        separator: Separator of items on one line.
    """
    if not isinstance(separator, str) or not separator.strip():
        raise VerifierError(f"separator: expected text that is no white space, got {separator!r}")
    wanted = [_normal(item) for item in _texts("items", items)]
    answer = _answer(evidence)
    lines = [re.sub(r"^\s*(?:[-*•]|\d{1,4}[.)])\s+", "", line) for line in answer.split("\n")]
    parts = [part for line in lines for part in line.split(separator)]
    seen = [_normal(part) for part in parts if part.strip()]
    same = Counter(seen) == Counter(wanted) if any_order else seen == wanted
    if same:
        return result(True, f"listed the {len(wanted)} items")
    missing, extra = Counter(wanted) - Counter(seen), Counter(seen) - Counter(wanted)
    faults = [f"lacks {brief(next(iter(missing)))}"] if missing else []
    faults += [f"has too many {brief(next(iter(extra)))}"] if extra else []
    return result(False, f"listed {len(seen)} items: {'; '.join(faults) or 'in another order'}")


def mentions(
    evidence: Evidence,
    facts: Sequence[Any] = (),
    forbids: Sequence[Any] = (),
    may: Sequence[Any] = (),
    only: Sequence[str] = (),
    most_chars: int = 2000,
) -> CheckResult:
    """The answer, in free sentences, states these facts and no forbidden ones.

    Channel: trace. A fact is text (whole words; case and spacing do not count), a number (`1200`
    finds 1,200.00), `{ date = "2026-03-04" }` (finds 4 March, Mar 4th 2026), `{ time = "14:00" }`
    (finds 2 pm), or `{ any = […] }` of several. An answer that dumps all data would state every
    fact: prevent that with `forbids`, `only` and `most_chars`.

    Example:
        use = "answers.mentions"
        with = { facts = ["Ada Quist", 3, { date = "2026-03-04" }], only = ["dates"] }

    Args:
        evidence: Evidence of the episode.
        facts: Facts that it has to state.
        forbids: Facts that it must not state.
        may: Further facts that `only` allows.
        only: "dates", "times", "numbers": of these it states only `facts` and `may`.
        most_chars: Maximum length in characters.
    """
    wanted = facts_in_text.mentions(facts, forbids, may, only, most_chars)
    seen = evidence.answer or ""
    fault = wanted.fault(seen) if seen.strip() else "is none"
    return result(not fault, f"the answer {fault or 'says what is asked for'}: {brief(seen)}")


def fields(
    evidence: Evidence,
    fields: Mapping[str, Any],
    ordered: Sequence[str] = (),
    tolerance: Mapping[str, float] | None = None,
) -> CheckResult:
    """These fields of the answer have these values; the others are not compared.

    Channel: trace. For tasks whose `task.toml` has a form `[answer]`. Case and accents of texts do
    not count. A list is compared as a set. An expected value may be a table of comparisons, as in
    rows: `{ one_of = […] }`, `{ at_most = 3 }`, `{ null = true }`.

    Example:
        use = "answers.fields"
        with = { fields = { opened = "{{case.total}}", people = ["Ada Quist", "Bo Lind"] } }

    Args:
        evidence: Evidence of the episode.
        fields: The expected values by name of the field.
        ordered: Names of lists whose order and repetitions count.
        tolerance: Largest absolute difference of numbers, by name of the field.
    """
    if not isinstance(fields, Mapping) or not fields:
        raise VerifierError(f"fields: expected a table of values, got {fields!r}")
    reach = dict(tolerance or {})
    for option, names in (("ordered", ordered), ("tolerance", reach)):
        if unknown := [name for name in names if name not in fields]:
            raise VerifierError(f"{option}: {unknown[0]!r} is not among the fields")
    if wrong := [name for name, value in reach.items() if not is_number(value) or value < 0]:
        raise VerifierError(f"tolerance.{wrong[0]}: expected a number of at least 0")
    wanted = {
        name: field_matcher(name, value, name in ordered, reach.get(name, 0.0))
        for name, value in fields.items()
    }
    seen = form_values(evidence.answer)
    if seen is None:
        return result(False, "there is no answer with fields")
    if missing := [name for name in wanted if name not in seen]:
        return result(False, f"the answer has no field {missing[0]!r}")
    faults = [
        f"{name} is {show_value(seen[name])}, expected {show_value(fields[name])}"
        for name, fits in wanted.items()
        if not fits(seen[name])
    ]
    return result(not faults, "; ".join(faults) or f"{', '.join(wanted)} as expected")


def gave_up(
    evidence: Evidence,
    reason: str = "",
    forbids: Sequence[Any] = (),
    may: Sequence[Any] = (),
    only: Sequence[str] = (),
    true: Sequence[Any] = (),
    false: Sequence[str] = (),
    unchanged: bool = False,
) -> CheckResult:
    """The agent gave up for a true cause: by category and subject, or by the words of its reason.

    Channel: trace. For tasks with ``abstain = true``. With `true`, the category and the subject
    decide, and the free words must not contradict them. Without, the text is judged: it has the
    words of `reason`, in any order, also as parts of longer ones, and no fact of `forbids`. Facts
    are those of `mentions`.

    Example:
        use = "answers.gave_up"

        [checkpoint.with]
        true = [{ category = "missing_data", subject = ["{{vendor}}"], never = ["Fenwick"] }]
        false = ["damaged", "locked"]
        unchanged = true

    Args:
        evidence: Evidence of the episode.
        reason: Words that the reason has to have, without `true`.
        forbids: Facts that the text must not state, without `true`.
        may: Facts that `only` allows.
        only: "dates", "times", "numbers": of these, subject and reason state only `may`.
        true: The causes that hold, of which one has to be given: `category` (one or a list),
            `subject`, what it has to name (each a text, or a list of alternatives), `told`, what
            subject or reason have to name, and `never`, what the subject must not name.
        false: Categories or phrases that do not hold: no clause may state them as facts.
        unchanged: Nothing was to be changed, so the words must not tell of a change.
    """
    wanted = _WORD.findall(_normal(_text("reason", reason)))
    holds, untrue = causes("true", true), _texts("false", false) if false else []
    rules = None
    if forbids or only:
        rules = facts_in_text.mentions((), forbids, may, only, 4 * facts_in_text.MOST_CHARS)
    said = given_up(evidence)
    if said is None:
        return result(False, "the agent did not give up")
    shown = f"gave up: {said.category or 'no category'}, {brief(said.words[:_ANSWER_CHARS])}"
    if not holds:
        words = said.words[:_ANSWER_CHARS]
        missing = [word for word in wanted if word not in _normal(words)]
        fault = f"lacks {missing[0]!r}" if missing else rules.excess(words) if rules else ""
        return result(not fault, shown + (f": it {fault}" if fault else ""))
    fault = misstated(said, holds) or contradiction(said, untrue, _kept(holds))
    if unchanged:
        fault = fault or told_deed(said.words, own=said.category == ALREADY_DONE)
    if only:
        numbers = facts_in_text.mentions((), (), may, only, MOST_CHARS)
        fault = fault or numbers.excess(said.words)
    return result(not fault, shown + (f": {fault}" if fault else ""))


def _kept(true: Sequence[Cause]) -> list[str]:
    """Return the words that a rubric calls true, so that they are not among the false ones."""
    return [one for cause in true for some in (*cause.subject, *cause.told) for one in some]


def _answer(evidence: Evidence) -> str:
    answer = evidence.answer or ""
    # A longer text is not a valid answer, whatever the part that is cut off says.
    return answer if len(answer) <= _ANSWER_CHARS else ""


def _text(name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    if not is_number(value):
        raise VerifierError(f"{name}: expected text or a number, got {value!r}")
    return json.dumps(value)


def _texts(name: str, values: object) -> list[str]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise VerifierError(f"{name}: expected a list of texts, got {values!r}")
    return [_text(name, value) for value in values]


def _normal(text: str) -> str:
    folded = normal_text(text)
    bare = folded[:-1] if folded.endswith(".") and not folded.endswith("..") else folded
    pairs = ("''", '""', "``", "“”", "‘’")
    if len(bare) > 1 and bare[0] + bare[-1] in pairs:
        bare = bare[1:-1]
    return bare.strip()


def _date(text: str) -> date | None:
    """Read a date from text that is already normal; return None if it is not a date."""
    if found := _ISO.fullmatch(text):
        year, month, day = (int(part) for part in found.groups())
    elif found := _DAY_FIRST.fullmatch(text):
        year, month, day = int(found[3]), _month(found[2]), int(found[1])
    elif found := _MONTH_FIRST.fullmatch(text):
        year, month, day = int(found[3]), _month(found[1]), int(found[2])
    else:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _month(name: str) -> int:
    """Return the number of a month by its name or its first three letters; 0 for other text."""
    names = [month for month in MONTHS if name in (month, month[:3])]
    return MONTHS.index(names[0]) + 1 if names else 0
