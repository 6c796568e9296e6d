"""Checks of quote-reply: to whom the quotation goes, and every figure that it states.

The reply is read line by line. Numbers that a line may state are taken out of it in every usual
spelling; any figure that is left is a false one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from agentgym import CheckResult, Evidence, GuestFileError
from agentgym.verify.messages.days import Day
from agentgym.verify.messages.figures import find_figures
from agentgym.verify.messages.plain import plain
from agentgym.verify.messages.spelled import TENS, UNITS
from agentgym.verify.subprocess_reader import ask
from agentgym.verify.values import result

_READER = Path(__file__).with_name("reader.py")
_MAIL = "/home/user/Mail"
_FOLDERS = ("draft", "queue", "sent")
_MAIL_BYTES = 2**18
_MOST_MAILS = 20
_ID = re.compile(r"\b(ch|de|la|ca|bo|fo)[ -]?(\d{3})\b")
_OWN_LINE = re.compile(r"\b(freight|shipping|carriage|total|sum)\b")
_TOTAL = re.compile(r"\b(total|sum)\b")
_PART = re.compile(r"\b(sub-?total|goods|excluding|without|before|plus|net of)\b")
_FREIGHT = re.compile(r"\b(freight|shipping|carriage)\b")
_COUNT = r"(\d{1,2}|[a-z]{1,12}(?:-[a-z]{1,9})?)(?: ?\((?:\d{1,2}|[a-z-]{1,12})\))?"
_WEEKS = re.compile(
    rf"\b{_COUNT}[ -]?(?:working |calendar )?weeks?\b(?!\)? ?[:=] ?[a-z\d])"
    rf"|\bweeks?\)? ?[:=] ?{_COUNT}\b"
)
_FOREIGN = re.compile(r"[$£]|\b(usd|gbp|chf|dollars?|pounds?|francs?)\b")
_WITH_VAT = re.compile(
    r"(?<!\bnot )(?<!\byet )\b(?:incl\.?|including|inclusive of|includes?|with|contains?) "
    r"(?:(?!without|ex|no\b|net\b|plus\b|before\b|not\b)[a-z\d%]{1,20} ){0,2}"
    r"(?:vat|value[- ]added tax)\b"
    r"|\b(?:vat|value[- ]added tax) (?:is |are |already ){0,2}included\b"
)
"""A statement that the figures include the tax."""
_OPENING = re.compile(
    r"^on [a-z]{3}, \d{1,2} [a-z]{3} \d{4}[^\n]{0,30}\n?[^\n]{0,120} wrote:$", re.MULTILINE
)
"""The line above a quoted mail."""
_MARK = re.compile(r"^(?:-\s+|\(?\d{1,2}[.)]\s+)")
_WORDS = {number: word for word, number in (*UNITS.items(), *TENS.items())}
_UNWRAPPED_CHARS = 50
_MOST_LINES = 120
_THRESHOLDS = ("2,500.00", "6,000.00")


def addressed(evidence: Evidence) -> CheckResult:
    """One mail waits, and it answers the enquiry, under its subject, to the right person alone.

    Channel: state.
    """
    wanted, mails = _wanted(evidence), _mails(evidence)
    if len(mails) != 1:
        return result(False, f"{len(mails)} mails wait in drafts and queue, expected one")
    (mail,) = mails
    if mail["to"] != [wanted["to"]] or mail["cc"] or mail["bcc"]:
        people = ", ".join([*mail["to"], *mail["cc"], *mail["bcc"]][:6])
        return result(False, f"it goes to {people or 'no one'}, expected {wanted['to']} alone")
    if mail["answers"] not in wanted["answers"]:
        return result(False, f"it answers {mail['answers'][:80]!r}, no mail of this enquiry")
    kept = wanted["subject"].lower() in " ".join(mail["subject"].split()).lower()
    return result(kept, f"its subject is {mail['subject'][:120]!r}")


def article(evidence: Evidence, place: int) -> CheckResult:
    """A line of the reply has number, pieces, net price and amount of an article, in this order.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        place: Number of the article among those of the enquiry, from 0 on.
    """
    one = _wanted(evidence)["lines"][place]
    order = (_spelled(one["pieces"]), _money(one["price"]), _money(one["amount"]))
    found = [line for line in _lines(evidence) if _named(line) == {_squashed(one["number"])}]
    good = [line for line in found if _has_in_order(_bare(line), order)]
    figures = f"{one['pieces']} x {one['price']} = {one['amount']}"
    return result(bool(good), f"{one['number']}: {len(good)} of {len(found)} lines have {figures}")


def stated(evidence: Evidence, what: str) -> CheckResult:
    """A line of the reply that names a sum, or a sentence about weeks, has the right figure.

    Channel: state.

    Args:
        evidence: Evidence of the episode.
        what: "freight", "total" or "weeks".
    """
    wanted = _wanted(evidence)
    figure = str(wanted[what])
    if what == "weeks":
        good = [
            line
            for line in _lines(evidence)
            if not _named(line)
            and any(_weeks(match) in _spelled(wanted["weeks"]) for match in _WEEKS.finditer(line))
        ]
    else:
        own = re.compile(_any(_money(figure)))
        names = _TOTAL if what == "total" else _FREIGHT
        good = [line for line in _lines(evidence) if names.search(line) and own.search(line)]
    return result(bool(good), f"{len(good)} lines with the {what} {figure}")


def nothing_false(evidence: Evidence) -> CheckResult:
    """No mail that waits states a figure that is not one of this quotation, in its place.

    Channel: state.
    """
    wanted = _wanted(evidence)
    for mail in _mails(evidence):
        if mail["parts"] != 1:
            return result(False, f"a mail has {mail['parts']} parts, expected its text alone")
    for line in _lines(evidence):
        if fault := _fault(line, wanted):
            return result(False, f"{line[:100]!r}: {fault}")
    return result(True, "every figure is one of the quotation")


def _wanted(evidence: Evidence) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evidence.gold("quotation.json"))
    return found


def _mails(evidence: Evidence) -> list[dict[str, Any]]:
    """Return the mails that wait; the mail program names them by numbers."""
    tree, files = evidence.after, {}
    for folder in _FOLDERS:
        for name in sorted(tree.list(f"{_MAIL}/{folder}")):
            if re.fullmatch(r"\d{1,9}", name) and len(files) < _MOST_MAILS:
                data = tree.read(f"{_MAIL}/{folder}/{name}", max_bytes=_MAIL_BYTES)
                files[f"{folder}-{name}"] = data
    if not files:
        return []
    found: list[dict[str, Any]] = ask(_READER, {"names": list(files)}, files, what=_MAIL)
    return found


def _lines(evidence: Evidence) -> list[str]:
    wanted = _wanted(evidence)
    found = [line for mail in _mails(evidence) for line in _own_lines(mail["text"], wanted)]
    if len(found) > _MOST_LINES:
        raise GuestFileError(f"the mails have {len(found)} lines, expected at most {_MOST_LINES}")
    return found


def _own_lines(text: str, wanted: dict[str, Any]) -> list[str]:
    """Return the lines of a reply in plain form, without those it quotes.

    The mail program breaks long lines; such a line is joined again.
    """
    quoted = [" ".join(mail.split()) for mail in wanted["mails"]]
    kept = []
    for raw in text.splitlines():
        line = raw.strip()
        inner = " ".join(line.lstrip("> ").split())
        if not (line.startswith(">") and (not inner or any(inner in one for one in quoted))):
            kept.append(raw)
    lines: list[str] = []
    last = ""
    for line in plain(_OPENING.sub("", "\n".join(kept).lower())).splitlines():
        begins = not line or _ID.search(line) or _OWN_LINE.search(line) or _MARK.match(line)
        if begins or not last or len(last) < _UNWRAPPED_CHARS:
            lines.append(line)
        else:
            lines[-1] += f" {line}"
        last = line
    return [line for line in lines if line]


def _named(line: str) -> set[str]:
    """Return the numbers of the articles that a line names, without their dashes."""
    return {prefix + digits for prefix, digits in _ID.findall(line)}


def _squashed(number: str) -> str:
    return number.replace("-", "").lower()


def _has_in_order(line: str, order: Sequence[set[str]]) -> bool:
    """Return whether a line has numbers, each in one of its spellings, one behind the other."""
    place = 0
    for spellings in order:
        found = re.compile(_any(spellings)).search(line, place)
        if found is None:
            return False
        place = found.end()
    return True


def _bare(line: str) -> str:
    """Return a line without numbers of articles and without the sign of a list."""
    return _ID.sub("#", _MARK.sub("", line))


def _fault(line: str, wanted: dict[str, Any]) -> str:
    """Return what a line states that is false; empty if all its figures are right there."""
    if found := _FOREIGN.search(line):
        return f"{found[0]!r} is no part of a quotation in euros"
    if found := _WITH_VAT.search(line):
        return f"says {found[0]!r}, but the figures are without it"
    lines = {_squashed(one["number"]): one for one in wanted["lines"]}
    gone = wanted["dropped"]
    named = _named(line)
    known = {*lines, _squashed(gone["number"])}
    if named - known:
        return f"names {min(named - known)}, which is not asked for"
    left = _without_days(_bare(line), wanted["days"])
    about = [lines[one] for one in sorted(named & set(lines))]
    slow = {one["weeks"] for one in about} or {wanted["weeks"]}
    for match in _WEEKS.finditer(left):
        said = _weeks(match)
        is_right = any(said in _spelled(count) for count in slow)
        if not is_right and (said.isdigit() or find_figures(said)):
            return f"says {match[0]!r}"
    left = _WEEKS.sub(" ; ", left)
    allowed: set[str] = set()
    for one in about:
        allowed |= _spelled(one["pieces"]) | _spelled(one["was"])
        allowed |= _money(one["price"]) | _money(one["amount"]) | _money(one["list"])
    percents = "|".join(str(one["percent"]) for one in about or wanted["lines"])
    left = re.sub(rf"(?<![\d.,])(?:{percents}) ?(?:%|per ?cent)", " ; ", left)
    if _squashed(gone["number"]) in named:
        allowed |= _pieces(wanted)
    if not named:
        allowed |= _open_figures(line, wanted)
    if allowed:
        left = re.sub(_any(allowed), " ; ", left)
    if found := re.search(r"\d[\d.,' ]*", left):
        return f"states {found[0].strip()!r}"
    figures = [one for one in find_figures(left) if not one.is_count]
    return f"states {figures[0].text!r}" if figures else ""


def _open_figures(line: str, wanted: dict[str, Any]) -> set[str]:
    """Return the figures that a line without an article may state."""
    if _TOTAL.search(line) and not _PART.search(line):
        has_total = re.search(_any(_money(wanted["total"])), line)
        sums = {"total"} | ({"freight"} if has_total and _FREIGHT.search(line) else set())
    elif _TOTAL.search(line):
        sums = {"goods", "freight", "total"}
    elif _FREIGHT.search(line):
        sums = {"freight"}
        if re.search(_any(_money(wanted["freight"])), line):
            sums |= {"goods"}
    elif re.search(r"\bgoods\b", line):
        sums = {"goods"}
    else:
        sums = set()
    allowed = {spelling for name in sums for spelling in _money(wanted[name])}
    if {"freight", "goods"} <= sums:
        allowed |= {spelling for one in _THRESHOLDS for spelling in _money(one)}
    if not sums:
        allowed |= _pieces(wanted) | {"2026"}
    return allowed


def _pieces(wanted: dict[str, Any]) -> set[str]:
    """Return the spellings of all pieces that the customer has asked for."""
    counts = {one[name] for one in wanted["lines"] for name in ("pieces", "was")}
    return {
        spelling for count in counts | {wanted["dropped"]["pieces"]} for spelling in _spelled(count)
    }


def _without_days(line: str, days: Sequence[str]) -> str:
    """Return a line without the days of the enquiry; other days stay, as figures."""
    known = [("date", Day.parse(day)) for day in days]
    chars = list(line)
    for figure in find_figures(line):
        if "date" in figure.kinds() and figure.means(known):
            chars[figure.start : figure.end] = ";" * (figure.end - figure.start)
    return "".join(chars)


def _any(spellings: Iterable[str]) -> str:
    """Return a pattern for numbers that are not parts of longer ones."""
    digits = _either(one for one in spellings if one[0].isdigit())
    words = _either(one for one in spellings if not one[0].isdigit())
    after = r"(?![\d%]|[.,']\d| ?(?:%|per ?cent|k\b|thousand|million|hundred))"
    return (
        rf"(?<!\d)(?<!\d[.,'])(?:{digits}){after}"
        rf"|(?<![a-z-])(?<!hundred )(?<!thousand )(?:{words})(?!-?[a-z]| (?:hundred|thousand))"
    )


def _either(spellings: Iterable[str]) -> str:
    return "|".join(re.escape(one) for one in sorted(spellings, key=len, reverse=True)) or "(?!)"


def _weeks(match: re.Match[str]) -> str:
    """Return the count of a found time in weeks."""
    return match[1] or match[2]


def _spelled(count: int) -> set[str]:
    """Return the spellings of a count below 100."""
    tens, ones = divmod(count, 10)
    if count in _WORDS:
        return {str(count), _WORDS[count]}
    word = f"{_WORDS[10 * tens]}-{_WORDS[ones]}"
    return {str(count), word, word.replace("-", " ")}


def _money(told: str) -> set[str]:
    """Return the spellings of a sum such as "3,294.60"."""
    whole, cents = told.replace(",", "").split(".")
    grouped = f"{int(whole):,}"
    tails = (
        {cents} | ({cents[0]} if cents[1] == "0" else set()) | ({""} if cents == "00" else set())
    )
    found = set()
    for tail in tails:
        for point, comma in (
            (".", ","),
            (",", "."),
            (".", "'"),
            (",", "'"),
            (".", " "),
            (",", " "),
        ):
            end = f"{point}{tail}" if tail else ""
            found |= {whole + end, grouped.replace(",", comma) + end}
    if cents == "00":
        found |= {f"{one}.-" for one in (whole, grouped)}
    return found
