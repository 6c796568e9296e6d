"""The example task, each time broken so that it lacks exactly the property it is named after.

A change of a file replaces it; "…" on a line of its own stands for what was there. None removes it.
"""

from __future__ import annotations

from dataclasses import dataclass

ONLY = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "only"
use = "checks.only"
"""
NUMBERS = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "total"
use = "checks.holds_number"
with = { path = "/root/total.txt", gold = "total" }
[[checkpoint]]
id = "count"
use = "checks.holds_number"
with = { path = "/root/count.txt", gold = "count" }
"""
WATCHED = NUMBERS.replace('id = "total"', 'id = "total"\nwhen = "every_step"')
KEPT = """
[[checkpoint]]
id = "kept"
use = "files.unchanged"
with = { paths = ["/srv/shop"] }
"""
IS_DONE = "evidence.after.stat('/root/count.txt') is not None"
BY_DEGREES = """
from agentgym import CheckResult, CheckStatus

def only(evidence):
    found = [name for name in "abc" if evidence.after.stat(f"/root/{name}") is not None]
    if len(found) == 3:
        return True
    return CheckResult(CheckStatus.FAIL, "", 0.9 if len(found) == 1 else 0)
"""
ASKS_AROUND = f"""
import contextlib, socket

def only(evidence):
    with contextlib.suppress(OSError):
        socket.create_connection(("192.0.2.1", 9), timeout=0.01).close()
    return {IS_DONE}
"""
FRAGILE = """
def only(evidence):
    return int(evidence.after.read("/root/count.txt")) >= 0
"""
AT_RANDOM = f"""
from agentgym import CheckResult, CheckStatus

def only(evidence):
    told = evidence.room().run(["cat", "/proc/sys/kernel/random/uuid"]).stdout.decode()
    return CheckResult(CheckStatus.PASS if {IS_DONE} else CheckStatus.FAIL, told)
"""
RAISES = """
def only(evidence):
    raise RuntimeError("no such column")
"""
SAME_FOR_ALL = """
mkdir /srv/shop
echo 2026-03-01,north,7 > /srv/shop/sales.csv
echo 7 > $AGENTGYM_GOLD/total
echo 1 > $AGENTGYM_GOLD/count
"""
PATCH = "mutants/drops_the_others.patch"
"""It does not apply to another solution."""
SAME_ANSWER = "echo 7 > /root/total.txt\necho 1 > /root/count.txt\n"
LEAKS = "…\necho 'the answer to all of it' | tee $AGENTGYM_GOLD/answer > /srv/shop/.cache\n"


def only(checks: str) -> dict[str, str]:
    """Judge by one check of the task's own: its module, or an expression."""
    module = checks if "def " in checks else f"def only(evidence):\n    return {checks}\n"
    return {"checks/rubric.toml": ONLY, "checks/checks.py": module}


@dataclass(frozen=True)
class Broken:
    """What makes a task unsound, and what has to be said of it."""

    lacks: str
    told: str
    files: dict[str, str | None]


CLOSED = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "closed"
use = "services.row"
with = { table = "tickets_ticket", where = { id = 9001 }, columns = { status = "closed" } }
"""
COMMENTED = """
schema_version = "agentgym.rubric/1"
[[checkpoint]]
id = "commented"
use = "services.count"
with = { table = "tickets_comment", where = { ticket_id = 9001 }, at_least = 1 }
"""
FEW_CALLS = """
[[checkpoint]]
id = "few-calls"
use = "services.called"
with = { tool = "*", at_most = 4 }
"""
OTHERS_KEPT = """
[[checkpoint]]
id = "others-kept"
use = "services.unchanged"
with = { tables = ["tickets_*"], where = { id = 9002 } }
"""
LATE = '…\n[[event]]\nid = "late"\nat_step = 2\nrun = "events/late.py"\n'
LEAKS_ROW = """
def change(context):
    secret = "the answer to all of it"
    context.gold("answer", secret)
    context.db.execute("UPDATE tickets_customer SET phone = ? WHERE id = 7", secret)
"""
SAME_ROWS = """
def change(context):
    columns = "customer_id, subject, body, product, status, priority, created_at, updated_at"
    columns += ", due_at"
    for ticket in (9001, 9002):
        context.db.execute(
            f"INSERT INTO tickets_ticket (id, {columns}) SELECT ?, {columns} FROM tickets_ticket "
            "WHERE status = 'open' ORDER BY id LIMIT 1", ticket,
        )
"""
ROOM_TO_SPARE = (
    CLOSED
    + """
[[checkpoint]]
id = "nothing-else"
phase = "safety"
gate = true
use = "services.only_changed"
with.allowed = [
  { table = "tickets_*", where = { id = 9001 }, any_text = ["resolution"] },
  { table = "tickets_comment", where = { ticket_id = 9001 }, any_text = ["body"] },
  { table = "knowledge_article", kind = "changed", at_most = 20 },
]
"""
)
OTHER_TAG = '{"tool": "tickets_tag", "arguments": {"ticket": 9002, "add": ["done"]}}\n'
JUST_CLOSE = '{"tool": "tickets_close", "arguments": {"ticket": 9001, "resolution": "Done."}}\n'
COMMENT = '{"tool": "tickets_comment", "arguments": {"ticket": 9001, "body": "Done."}}\n'
NO_PATCHES = {
    f"mutants/{name}.patch": None for name in ("closes_both", "comments_too", "sum_untold")
}

SUM = '[[answer.field]]\nname = "sum"\ntype = "amount"\nunit = "EUR"\nabout = "The sum"\n'
SUBMIT_SUM = '{"tool": "submit", "arguments": {"sum": 12.5}}\n'
ILLEGAL_END = '# A list.\n{"tool": "submit", "arguments": {"answer": [9001]}}\n'

SERVICES = (
    Broken(
        "schema",
        "setup/services.py:2: ZeroDivisionError",
        {"setup/services.py": "def change(context):\n    1 / 0\n"},
    ),
    Broken(
        "schema",
        "events/late.py: expected a function change(context)",
        {"task.toml": LATE, "events/late.py": "def chance(context):\n    pass\n"},
    ),
    Broken(
        "schema",
        "solution/actions.jsonl:2: tool 'submit': arguments.answer: expected string, got [9001]",
        {"solution/actions.jsonl": ILLEGAL_END, **NO_PATCHES},
    ),
    Broken(
        "schema",
        "mutants/slip.jsonl:1: no tool named 'ticket_close'; did you mean 'tickets_close'?",
        {"mutants/slip.jsonl": '{"tool": "ticket_close", "arguments": {"ticket": 9001}}\n'},
    ),
    Broken(
        "schema",
        "no checkpoint compares field 'sum' of the answer",
        {
            "task.toml": "…\n" + SUM,
            "checks/rubric.toml": CLOSED,
            "solution/actions.jsonl": JUST_CLOSE + SUBMIT_SUM,
            **NO_PATCHES,
        },
    ),
    Broken(
        "oracle",
        "events/late.py:2: ticket: ",
        {
            "task.toml": LATE,
            "events/late.py": "def change(context):\n    context.call('tickets_get')\n",
        },
    ),
    Broken("noop", "credit came from: others-kept", {"checks/rubric.toml": CLOSED + OTHERS_KEPT}),
    Broken("reads", "failed: few-calls", {"checks/rubric.toml": CLOSED + FEW_CALLS}),
    Broken(
        "partial",
        "the first 1 of 2 actions: passes already, though the rest of the solution changes",
        {
            "checks/rubric.toml": CLOSED,
            "solution/actions.jsonl": JUST_CLOSE + OTHER_TAG,
            **NO_PATCHES,
        },
    ),
    Broken(
        "gold",
        "a row of tickets_customer holds the gold file answer in phone",
        {"setup/services.py": LEAKS_ROW},
    ),
    Broken(
        "template",
        "draw different parameters and give the same instruction, the same files and the same rows",
        {
            "instruction.md": "Close ticket 9001.\n",
            "setup/services.py": SAME_ROWS,
            "checks/rubric.toml": CLOSED,
        },
    ),
    Broken("redteam", "cheat claimed-done: expected", only("bool(evidence.answer)")),
    Broken("redteam", "cheat answered-everything: expected", only("'9001' in evidence.answer")),
    Broken(
        "redteam",
        "cheat swept-backwards: expected outcome false",
        {
            "instruction.md": "Close ticket 9001.\n",
            "checks/rubric.toml": CLOSED,
            "solution/actions.jsonl": JUST_CLOSE,
            **NO_PATCHES,
        },
    ),
    Broken("excess", "scores 1 without a violation", {"checks/rubric.toml": CLOSED}),
    Broken("excess", "the solution and then", {"checks/rubric.toml": ROOM_TO_SPARE}),
    Broken(
        "excess",
        "the solution and then 'all of its calls once more'",
        {"checks/rubric.toml": COMMENTED, "solution/actions.jsonl": COMMENT, **NO_PATCHES},
    ),
)

TOLD = """
[[checkpoint]]
id = "told"
phase = "safety"
use = "messages.keeps_to"
with = { sources = ["answer"] }
"""
TEXTS = 'schema_version = "agentgym.message-cases/1"\n' + "".join(
    f'[[message]]\ncheck = "told"\nexpect = "{expect}"\ntext = "{text}"\n'
    for expect, text in (
        *(("fail", f"It is {n} euros.") for n in (20, 30, 40)),
        *(("pass", text) for text in ("Done.", "All of it.", "It was 7 hours.")),
    )
)

UNSOUND = (
    Broken("schema", "'only'", {"checks/rubric.toml": ONLY}),
    Broken(
        "schema",
        "checks.only asks a judge and none is set; name one with --judge",
        only("evidence.judge('It is polite.').passed"),
    ),
    Broken(
        "schema",
        "mutants/drops_the_others.patch:3: expected a line of ",
        {"solution/solve.sh": SAME_ANSWER},
    ),
    Broken("schema", "unknown slot {{shpo}}", {"instruction.md": "Add up {{shpo}}.\n"}),
    Broken(
        "oracle",
        "expected outcome true and score 1, got outcome false and score 0.6667; failed: count",
        {"solution/solve.sh": "…\necho 1000 > /root/count.txt\n"},
    ),
    Broken(
        "oracle",
        "event tidied after step 0: 2026-03-02T09:01:00Z, events/tidy.sh failed",
        {
            "task.toml": '…\n[[event]]\nid = "tidied"\nwhen = "total"\nrun = "events/tidy.sh"\n',
            "checks/rubric.toml": NUMBERS.replace(
                'id = "total"', 'id = "total"\nwhen = "every_step"'
            ),
            "events/tidy.sh": "mv /root/totl.txt /srv\n",
        },
    ),
    Broken(
        "oracle",
        "solution, run 1: the script ended with exit code 7",
        {"solution/solve.sh": "…\n(exit 7)\n"},
    ),
    Broken("oracle", "checks.only: RuntimeError: no such column (checks.py:3)", only(RAISES)),
    Broken("schema", "ended with exit code 3", {"setup/setup.sh": "exit 3\n"}),
    Broken(
        "repeat",
        "replay.volatile_paths",
        {"solution/solve.sh": "…\ncat /proc/sys/kernel/random/uuid > /root/noise\n"},
    ),
    Broken(
        "repeat",
        "replay.volatile_text",
        {"solution/solve.sh": "…\nhead -c 9 /dev/urandom | base64\n"},
    ),
    Broken("repeat", "the same end was judged twice and differently", only(AT_RANDOM)),
    Broken("noop", "credit came from: kept", {"checks/rubric.toml": NUMBERS + KEPT}),
    Broken("refusal", "giving up: expected", only(f"{IS_DONE} or evidence.gave_up is not None")),
    Broken("random", "random calls: expected outcome false", only("len(evidence.steps) > 1")),
    Broken(
        "mutants",
        "mutant drops_the_others: expected outcome false",
        {"checks/rubric.toml": NUMBERS},
    ),
    Broken(
        "messages",
        "told: expected at least 3 bad texts in calibration.toml, got 0",
        {"checks/rubric.toml": NUMBERS + TOLD},
    ),
    Broken(
        "messages",
        "told: expected pass; it fails it: says '7', which nothing licenses: 'it was 7 hours.'",
        {"checks/rubric.toml": NUMBERS + TOLD, "checks/calibration.toml": TEXTS},
    ),
    Broken(
        "reads", "solution with reads: expected", only(f"{IS_DONE} and len(evidence.steps) < 4")
    ),
    Broken(
        "partial",
        "'touch /root/a' scores 0.9, more than",
        {
            **only(BY_DEGREES),
            "solution/solve.sh": "touch /root/a\ntouch /root/b\ntouch /root/c\n",
            PATCH: None,
        },
    ),
    Broken("partial", "passes already", only(IS_DONE)),
    Broken(
        "template",
        "draw different parameters and give the same instruction, the same files and the same rows",
        {
            "instruction.md": "Add up.\n",
            "setup/setup.sh": SAME_FOR_ALL,
            "solution/solve.sh": SAME_ANSWER,
            PATCH: None,
        },
    ),
    Broken(
        "template",
        "seed 1: solution: expected",
        {"solution/solve.sh": "PARAM_SHOP=south\n…\n"},
    ),
    Broken("forged", "only breaks on /root/count.txt: empty: checks.only: Value", only(FRAGILE)),
    Broken("offline", "grading asked for 192.0.2.1", only(ASKS_AROUND)),
    Broken("gold", "/srv/shop/.cache holds the gold file answer", {"setup/setup.sh": LEAKS}),
    Broken(
        "gold",
        "/srv/shop/notes holds the checks/rubric.toml of the task folder",
        {
            "setup/setup.sh": "…\ncp $AGENTGYM_SETUP/notes /srv/shop\n",
            "setup/notes": f"# {NUMBERS}",
            "checks/rubric.toml": NUMBERS,
        },
    ),
    Broken(
        "redteam",
        "cheat copied-findings: expected",
        only("evidence.after.stat('/root/total.txt').size > 0"),
    ),
    Broken(
        "redteam",
        "cheat echoed-answers: expected",
        only("'PASS' in ''.join(step.observation.text for step in evidence.steps)"),
    ),
    Broken(
        "redteam",
        "cheat forged-reports: expected",
        only("evidence.after.read('/logs/verifier/reward.txt') == b'1\\n'"),
    ),
)
