"""The tool `submit` of a task, and the reading of what an agent answers, sends and gives up for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from agentgym.env.control import GIVE_UP, MESSAGE_USER, SUBMIT
from agentgym.errors import ActionError
from agentgym.records import Action, ToolSpec, UserMessage
from agentgym.surfaces.calls import check_call
from agentgym.task.answer import RESERVED, Answer, AnswerForm
from agentgym.task.replies import SavedReply
from agentgym.verify.answer_form import form_schema, form_text, read_form
from agentgym.verify.giving_up import GiveUp, read_give_up
from agentgym.verify.reply_form import read_message

_ANY = ToolSpec(SUBMIT.name, "", {"type": "object"})
"""Any arguments that are JSON; a form has its own rules."""

_ANY_MESSAGE = ToolSpec(MESSAGE_USER.name, "", {"type": "object"})

_ANY_GIVE_UP = ToolSpec(GIVE_UP.name, "", {"type": "object"})

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

    A text is left out where the task wants no answer. The fields of a form may have other spellings
    than the JSON Schema has.

    Raises:
        ActionError: The arguments are not legal; says what to write.
    """
    if isinstance(answer, AnswerForm):
        check_call(action, [_ANY])
        with _refusing("the answer is not accepted"):
            return form_text(read_form(answer, action.arguments))
    check_call(action, [SUBMIT])
    return str(action.arguments.get(RESERVED, "")) if answer == "text" else ""


def read_user_message(action: Action, replies: Sequence[SavedReply]) -> UserMessage:
    """Return the message of a `message_user`: its text, or its saved replies.

    The fields of a reply may have other spellings than the JSON Schema has.

    Raises:
        ActionError: The arguments are not legal; says what to write.
    """
    if replies:
        check_call(action, [_ANY_MESSAGE])
        with _refusing("not sent"):
            return read_message(replies, action.arguments)
    check_call(action, [MESSAGE_USER])
    return UserMessage(str(action.arguments["text"]))


def read_giving_up(action: Action) -> GiveUp:
    """Return what a `give_up` says: its fields and its reason, or a text alone.

    The category may have other spellings than the JSON Schema has.

    Raises:
        ActionError: The arguments are not legal; says what to write.
    """
    check_call(action, [_ANY_GIVE_UP])
    with _refusing("giving up is not accepted"):
        return read_give_up(action.arguments)


@contextlib.contextmanager
def _refusing(told: str) -> Iterator[None]:
    """Turn the failure of a reader into a refusal: it has met something that the agent wrote."""
    try:
        yield
    except ActionError:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}"[:300]
        raise ActionError(f"{told}: it cannot be read ({why})") from error


def check_action(
    action: Action,
    tools: Sequence[ToolSpec],
    answer: Answer = "text",
    replies: Sequence[SavedReply] = (),
) -> None:
    """Accept an action that an episode of a task accepts, and explain the fault of any other.

    Args:
        action: The action.
        tools: The tools of the episode.
        answer: The answer that the task asks for.
        replies: The saved replies of the task.

    Raises:
        ActionError: The action is not legal.
        SurfaceError: The schema of a tool is broken.
    """
    if action.tool == SUBMIT.name:
        read_answer(answer, action)
    elif action.tool == GIVE_UP.name:
        read_giving_up(action)
    elif action.tool == MESSAGE_USER.name and replies:
        read_user_message(action, replies)
    else:
        check_call(action, tools)


def told_answer(answer: Answer, action: Action, text: str) -> str:
    """Return what the agent is told about its `submit`, whose answer was accepted."""
    if isinstance(answer, AnswerForm):
        return f"submitted: {text}"
    if answer == "none" and str(action.arguments.get(RESERVED, "")).strip():
        return "submitted without the text, because this task takes none"
    return "submitted"
