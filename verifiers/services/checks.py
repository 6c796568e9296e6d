"""Check pack `services`: rows of stateful services, and the calls in their audit.

Channels: state (rows before and after), audit (the caller of each call, and the rows it changed).
The services write both, out of the agent's reach.

A row is described by the values of its columns, a call by those of its arguments. A value is given
as it is, or as a table of comparisons that all have to hold: `is`, `not`, `one_of = […]`, `null =
true`, `contains = "text"` and `normal = "text"` (case, width and spacing do not count), `matches =
'regex'`, `whole = 'regex'` (all of the text; case, width and spacing do not count), `at_least`,
`at_most` (numbers, or texts such as dates). In a column true is 1.

`having` demands rows of other tables that belong to a row: `{ table = "mail_recipient", on = {
message_id = "id" }, where = { email = "ada@x.example" } }`, at least one, or `at_least` and
`at_most` of them (with `at_most` alone, zero rows are allowed).

`by` names the actor whose changes count: "agent" (default), "user", "world" or "anyone". A row
counts for an actor if one of the actor's calls changed it, even if others changed it too.
"""

from __future__ import annotations

from .calls import called, never_called, order, read_before_write
from .changes import only_changed, unchanged
from .rows import changed_to, count, mentions, row

__all__ = [
    "called",
    "changed_to",
    "count",
    "mentions",
    "never_called",
    "only_changed",
    "order",
    "read_before_write",
    "row",
    "unchanged",
]
