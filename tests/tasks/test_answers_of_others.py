"""Answers to the tasks that ask for fields: how often honest and dishonest ones are misjudged.

No episode is played: the form reads the answer, and the checks of fields compare it. An honest
answer that is refused costs a step, because the refusal says what to write. One that is judged
wrong costs the task. `docs/messages.md` publishes the numbers.
"""

import tomllib
from collections import Counter
from pathlib import Path

from agentgym.catalogue import match_tasks
from agentgym.errors import ActionError
from agentgym.records import CheckStatus
from agentgym.task.answer import AnswerForm
from agentgym.task.load import find_task
from agentgym.task.template import fill_json
from agentgym.verify.answer_form import form_text, read_form
from agentgym.verify.checking import bind_checks
from agentgym.verify.memory_evidence import evidence

ANSWERS = tomllib.loads(Path(__file__).with_name("answers.toml").read_text())
DOCS = Path(__file__).resolve().parents[2] / "docs" / "messages.md"


def judged(name: str, given: dict) -> str:
    """Return right, wrong or refused."""
    task = find_task(f"tools/{name}-v1")
    instance, form = task.instance(0), task.manifest.answer
    assert isinstance(form, AnswerForm)
    try:
        values = read_form(form, fill_json(given, instance.params, name))
    except ActionError:
        return "refused"
    rubric, checks = bind_checks(instance)
    compared = [checks[leaf.id] for leaf in rubric.leaves() if leaf.use == "answers.fields"]
    assert compared
    seen = evidence({}, answer=form_text(values))
    right = all(check(seen).status is CheckStatus.PASS for check in compared)
    return "right" if right else "wrong"


def count(kind: str) -> Counter:
    return Counter(judged(name, one) for name, sets in ANSWERS.items() for one in sets[kind])


def test_every_task_that_asks_for_fields_has_answers() -> None:
    asked = [name for name in match_tasks("tools") if _asks(name)]
    assert [f"tools/{name}-v1" for name in sorted(ANSWERS)] == sorted(asked)


def _asks(name: str) -> bool:
    return isinstance(find_task(name).manifest.answer, AnswerForm)


def test_no_dishonest_answer_is_right() -> None:
    found = count("dishonest")
    assert not found["right"] and found.total() >= 40
    assert _row("dishonest", found) in DOCS.read_text()


def test_honest_answers_are_right_or_told_what_to_write() -> None:
    found = count("honest")
    assert found.total() >= 40 and not found["wrong"]
    assert _row("honest", found) in DOCS.read_text()


def _row(kind: str, found: Counter) -> str:
    told = (found[verdict] for verdict in ("right", "refused", "wrong"))
    return f"| {kind} | {found.total()} | {' | '.join(map(str, told))} |"
