"""Measures of an episode against the gold patch: precision, recall, and the way to the fault.

A *place* is a source file or a function of the base. Gold places are those that the gold patch
changes; functions that it adds are not there to be found. Tests, documentation and data count as
places only if the gold patch changes no source file. The measures at file and function level are
those of works on fault localisation (Jimenez et al. 2024; Xia et al. 2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from agentgym.records import Repair
from agentgym.swe.diagnosis.contacts import Contact
from agentgym.swe.diagnosis.functions import changed_functions
from agentgym.swe.test_paths import is_code, is_test_path


@dataclass(frozen=True, slots=True)
class GoldPlaces:
    """The places that the gold patch changes.

    Attributes:
        files: Files of the base.
        functions: Functions of the base, ``path::Class.method``.
        added: Files that it adds.
        code_only: Whether source files alone count as places.
    """

    files: frozenset[str]
    functions: frozenset[str]
    added: frozenset[str]
    code_only: bool

    def counts(self, path: str) -> bool:
        """Return whether a file is a place."""
        return is_code(path) if self.code_only else not is_test_path(path)

    @property
    def targets(self) -> frozenset[str]:
        """The finest places that there are: functions, else files."""
        return self.functions or self.files


def gold_places(repair: Repair) -> GoldPlaces:
    """Return the places that a gold patch changes."""
    code_only = any(is_code(path) for path in repair.after)
    counted = [path for path in repair.after if is_code(path) or not code_only]
    files = frozenset(path for path in counted if path in repair.before)
    functions = frozenset(
        f"{path}::{name}"
        for path in files
        for name in changed_functions(path, repair.before[path], repair.after[path] or "")
    )
    return GoldPlaces(files, functions, frozenset(counted) - files, code_only)


@dataclass(frozen=True, slots=True)
class Reach:
    """The places that one kind of contact reached.

    Attributes:
        files: Files.
        functions: Functions.
    """

    files: frozenset[str]
    functions: frozenset[str]


def reach(places: Iterable[str], gold: GoldPlaces) -> Reach:
    """Sort places into files and functions, without what does not count."""
    counted = [place for place in places if gold.counts(place.partition("::")[0])]
    return Reach(
        frozenset(place for place in counted if "::" not in place),
        frozenset(place for place in counted if "::" in place),
    )


def edited_places(contact: Contact) -> set[str]:
    """Return the files and functions that a step edits."""
    return {place for edit in contact.edits for place in (edit.path, *edit.functions)}


def measures(contacts: Sequence[Contact], gold: GoldPlaces) -> dict[str, float | None]:
    """Return the measures of an episode by name; None for one that is undefined.

    Precision is undefined if no place was reached, recall if the gold patch changes none.
    """
    kinds: dict[str, list[Set[str]]] = {
        "search": [contact.searched for contact in contacts],
        "read": [contact.read for contact in contacts],
        "edit": [edited_places(contact) for contact in contacts],
    }
    found: dict[str, float | None] = {}
    for kind, places in kinds.items():
        reached = reach({place for step in places for place in step}, gold)
        # A file that the gold patch adds is a right place to edit, and none to find.
        right = reached.files & gold.added if kind == "edit" else frozenset[str]()
        found |= _rates(f"{kind}_file", reached.files, gold.files | right, gold.files)
        found |= _rates(f"{kind}_function", reached.functions, gold.functions, gold.functions)
    seen = [contact.read | edited_places(contact) for contact in contacts]
    whole = {place for places in seen for place in places}
    found["localised_file"] = float(gold.files <= whole) if gold.files else None
    found["localised_function"] = float(gold.functions <= whole) if gold.functions else None
    met = (at for at, places in enumerate(seen, 1) if places & gold.files)
    found["steps_to_file"] = next((float(at) for at in met), None)
    return found | _habits(contacts)


def _rates(
    name: str, reached: frozenset[str], right: frozenset[str], wanted: frozenset[str]
) -> dict[str, float | None]:
    return {
        f"{name}_precision": len(reached & right) / len(reached) if reached else None,
        f"{name}_recall": len(reached & wanted) / len(wanted) if wanted else None,
    }


def _habits(contacts: Sequence[Contact]) -> dict[str, float | None]:
    edits = [at for at, contact in enumerate(contacts) for _ in contact.edits]
    tested = [at for at, contact in enumerate(contacts) if contact.tests]
    return {
        "edits": float(len(edits)),
        "edits_reverted": float(sum(e.reverted for c in contacts for e in c.edits)),
        "test_runs": float(len(tested)),
        "tested_last_edit": float(bool(tested) and tested[-1] >= edits[-1]) if edits else None,
    }
