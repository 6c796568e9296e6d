"""Checks the returns against the mails, and the replies against the returns."""

import json
import re

from agentgym import CheckResult, CheckStatus, Evidence
from agentgym.records import Json

_OWN = "erik.pinto@fairlead.example"
_SENT = 2


def requested(evidence: Evidence) -> CheckResult:
    """Each return that was missing is requested, once, and no other one."""
    wanted = [tuple(each[1:5]) for each in _expected(evidence) if not each[5]]
    made = list(_made(evidence).values())
    done = sum(made.count(each) == 1 for each in wanted)
    told = f"{done} of {len(wanted)} returns are requested as asked for, {len(made)} in all"
    if done == len(wanted) == len(made):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * done / len(wanted))


def answered(evidence: Evidence) -> CheckResult:
    """Each colleague is told the number of the return, in one reply."""
    known = {row["id"] for row in evidence.tables_before.rows("mail_message", folder_id=_SENT)}
    after = evidence.tables_after.rows("mail_message", folder_id=_SENT)
    sent = [row for row in after if row["id"] not in known]
    made = {kind: number for number, kind in _made(evidence).items()}
    done = 0
    expected = _expected(evidence)
    for mail, *kind, there in expected:
        number = there or made.get(tuple(kind))
        replies = [row for row in sent if row["answers_id"] == mail]
        said = [str(row["body"])[:400].strip() for row in replies]
        form = rf"Return (?:number |no\. )?{number} is requested\.?"
        right = len(said) == 1 and number is not None and bool(re.fullmatch(form, said[0]))
        done += right and _is_reply(evidence, replies[0])
    told = f"{done} of {len(expected)} mails are answered, {len(sent)} were sent"
    if done == len(expected) == len(sent):
        return CheckResult(CheckStatus.PASS, told)
    return CheckResult(CheckStatus.FAIL, told, 0.9 * done / len(expected))


def _is_reply(evidence: Evidence, reply: dict[str, Json]) -> bool:
    """Return whether a mail goes to whom it answers, and has the subject of a reply."""
    (mail,) = evidence.tables_before.rows("mail_message", id=reply["answers_id"])
    rows = evidence.tables_after.rows("mail_recipient", message_id=reply["id"])
    to = {str(row["email"]).lower() for row in rows} - {_OWN}
    subject = re.sub(r"(?i)^\s*(re:\s*)*", "", str(reply["subject"])[:400]).split()
    return to == {mail["sender"]} and subject in ([], str(mail["subject"]).split())


def _made(evidence: Evidence) -> dict[object, tuple[object, ...]]:
    known = {row["id"] for row in evidence.tables_before.rows("shop_return")}
    columns = ("order_id", "product_id", "quantity", "reason")
    return {
        row["id"]: tuple(row[column] for column in columns)
        for row in evidence.tables_after.rows("shop_return")
        if row["id"] not in known
    }


def _expected(evidence: Evidence) -> list[list[object]]:
    found: list[list[object]] = json.loads(evidence.gold("expected.json"))
    return found
