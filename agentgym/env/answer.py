"""The tool `submit` of a task, and the reading of the answer that it is given."""

from __future__ import annotations

from collections.abc import Sequence

from agentgym.env.control import SUBMIT
from agentgym.records import Action, ToolSpec
from agentgym.surfaces.calls import check_call
from agentgym.task.answer import RESERVED, Answer, AnswerForm
from agentgym.verify.answer_form import form_schema, form_text, read_form

_ANY = ToolSpec(SUBMIT.name, "", {"type": "object"})
"""Any arguments that are JSON; a form has its own rules."""

_BARE = ToolSpec(
    SUBMIT.name,
    "Say that the task is done. What was done counts, so there is nothing to answer. "
    "This ends the episode.",
    {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
)


def submit_tool(answer: Answer) -> ToolSpec:
    """Return the tool `submit` of a task, with the fields of its form."""
    if answer == "text":
        return SUBMIT
    if answer == "none":
        return _BARE
    assert isinstance(answer, AnswerForm)
    told = (
        "Say that the task is done, and answer in these fields; nothing else is read. "
        "This ends the episode, unless a field is refused."
    )
    description = f"{told} {answer.about}" if answer.about else told
    return ToolSpec(SUBMIT.name, description, form_schema(answer))


def read_answer(answer: Answer, action: Action) -> str:
    """Return the answer of a `submit`: its text, or its fields as JSON.

    A text is kept in the record and not read where the task wants no answer. The fields of a form
    may have other spellings than the JSON Schema has.

    Raises:
        ActionError: The arguments are not legal; says what to write.
    """
    if isinstance(answer, AnswerForm):
        check_call(action, [_ANY])
        return form_text(read_form(answer, action.arguments))
    check_call(action, [SUBMIT])
    return str(action.arguments.get(RESERVED, "")) if answer == "text" else ""


def check_action(action: Action, tools: Sequence[ToolSpec], answer: Answer) -> None:
    """Accept an action that an episode of a task accepts, and explain the fault of any other.

    Raises:
        ActionError: The action is not legal.
        SurfaceError: The schema of a tool is broken.
    """
    if action.tool == SUBMIT.name:
        read_answer(answer, action)
    else:
        check_call(action, tools)


def told_answer(answer: Answer, text: str) -> str:
    """Return what the agent is told about an accepted answer."""
    return f"submitted: {text}" if isinstance(answer, AnswerForm) else "submitted"
