"""Values of fields in the spellings that people use: "3 pm", "EUR 1,871.10", "#430".

They are read as those of an answer are (`agentgym.verify.answer_values`), so that one spelling
is right everywhere. One that can mean two things is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentgym.task.answer import AnswerField, FieldType
from agentgym.verify.answer_values import read_value


def spelled(kind: FieldType, **options: Any) -> Callable[[Any], Any]:
    """Return what reads a text as a value of this kind, and leaves any other value as it is.

    Args:
        kind: Type of an answer's field.
        options: What else that field has, such as its ``unit``.
    """
    field = AnswerField(name="value", about="A value of a form", type=kind, **options)

    def read(value: Any) -> Any:
        return read_value(field, value) if isinstance(value, str) else value

    return read
