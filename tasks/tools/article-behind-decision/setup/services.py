"""Writes the document with the decisions: first version, correction, and a copy of the first."""

_FOLDER, _PAPER, _COPY = 348, 420, 421
_OWNER = "elena.lindholm@fairlead.example"
_FIRST, _CORRECTED = "2026-02-19T15:30:00Z", "2026-02-20T08:10:00Z"


def change(context):
    """Save the document and the copy in the board's folder."""
    case = context.params["case"]
    now = _paper(case["line"])
    then = _paper(case["line"].replace(str(case["new"]), str(case["wrong"])))
    _file(context, _PAPER, "Decisions 2026-02.md", [(_FIRST, then), (_CORRECTED, now)])
    _file(context, _COPY, "Decisions 2026-02_final.md", [(_FIRST, then)])


def _paper(line):
    return (
        "# Decisions of 19 February 2026\n\n"
        "- The lease in Berlin is extended by two years.\n"
        f"- {line}.\n"
        "- The summer party is in Lisbon.\n"
    )


def _file(context, number, name, versions):
    context.db.insert(
        "files_item",
        id=number,
        kind="file",
        name=name,
        folder_id=_FOLDER,
        owner=_OWNER,
        version=len(versions),
        created_at=_FIRST,
        updated_at=versions[-1][0],
    )
    for version, (when, text) in enumerate(versions, 1):
        context.db.insert(
            "files_version",
            item_id=number,
            number=version,
            content=text,
            author=_OWNER,
            saved_at=when,
            note="corrected after the meeting" if version > 1 else "",
        )
