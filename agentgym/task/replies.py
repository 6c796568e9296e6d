"""The saved replies of a task: the `[[user.reply]]` tables of `task.toml`.

A task whose user hears only saved replies has no free text in its conversation. A reply is a
sentence with typed fields, so what the agent asserts is an id and values.
"""

from __future__ import annotations

import re
from typing import Final

from pydantic import model_validator

from agentgym.manifest import Manifest
from agentgym.task.answer import AnswerField, Name, Told

ID: Final = "reply"
"""Name that no field may have: the argument that names the reply."""

FIELD: Final = re.compile(r"\{([^{}]*)\}")
"""A field in the sentence of a reply, such as ``{amount}``."""

_MOST_FIELDS: Final = 8


class SavedReply(Manifest):
    """One `[[user.reply]]`.

    Attributes:
        id: Name by which the agent sends it.
        say: The sentence that the user hears, with the fields in braces.
        field: The fields of the sentence.
    """

    id: Name
    say: Told
    field: tuple[AnswerField, ...] = ()

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.say.endswith("?")

    @model_validator(mode="after")
    def _says_its_fields(self) -> SavedReply:
        names = [field.name for field in self.field]
        if len(names) > _MOST_FIELDS:
            raise ValueError(f"expected at most {_MOST_FIELDS} fields, got {len(names)}")
        if sorted(names) != sorted(FIELD.findall(self.say)):
            raise ValueError(
                f"say: expected each field once in braces: {', '.join(names) or 'none'}; "
                f"got {', '.join(FIELD.findall(self.say)) or 'none'}"
            )
        if len(set(names)) < len(names):
            raise ValueError("expected fields of different names")
        if ID in names:
            raise ValueError(f"field.name: expected another name than {ID!r}")
        if optional := [field.name for field in self.field if field.optional]:
            raise ValueError(f"field {optional[0]!r}: a field of a reply cannot be optional")
        return self
