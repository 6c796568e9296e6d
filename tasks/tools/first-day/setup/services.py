"""Enters the newcomer, the checklist, the documents for newcomers and the spare laptops."""

_CHECKLIST = """## Rule
For everyone who joins us, before their first day:

1. Chat: add them to the channels of their team and of their office. No others; people find the
   rest themselves.
2. Laptop: the ones IT has set aside are listed in the workbook Laptops as "spare". Engineering gets
   an Anvil 14, everyone else a Slate 13. Enter name, address and first day in the columns Person,
   Address and Since. What is marked as broken stays.
3. Reading: share "Welcome to Fairlead.md" with them, read-only, with no end date.
4. Welcome: 30 minutes on the first day with the newcomer and the buddy, at 10:00 in Berlin, Lisbon
   and Toronto, at 16:30 in Singapore (local time). No room needed. The title is "Welcome", a comma
   and the first name, and there is no description: newcomers read every word.

## Who to ask
Ask Management, or write to elena.lindholm@fairlead.example."""

_SPARES = (
    ("NB-161", "Slate 13", "spare (broken hinge)"),
    ("NB-162", "Anvil 16 (old)", "spare"),
    ("NB-163", "Anvil 14", "spare"),
    ("NB-164", "Slate 13", "spare"),
)
_PAPERS = ((420, "Welcome to Fairlead 2023.md"), (421, "Welcome to Fairlead.md"))
_WRITTEN = "2026-02-16T10:00:00Z"


def change(context):
    """Enter the newcomer and write the documents."""
    case = context.params["case"]
    _newcomer(context, case)
    context.call(
        "sheets_append_rows",
        workbook=20,
        sheet="Laptops",
        rows=[[asset, model, who, None, None, None] for asset, model, who in _SPARES],
    )
    article = context.call(
        "knowledge_create",
        title="First day: what the office does",
        body=_CHECKLIST,
        category="office",
        owner="elena.lindholm@fairlead.example",
        review_on="2026-12-01",
        tags=["onboarding"],
    )
    context.call("knowledge_publish", article=article["id"])
    for number, name in _PAPERS:
        _paper(context, number, name)


def _newcomer(context, case):
    context.db.insert(
        "contacts_person",
        id=160,
        name=case["name"],
        email=case["email"],
        phone="+1 555 010 9960",
        company="Fairlead Software",
        department=case["department"],
        role=case["role"],
        office=case["office"],
        timezone=case["zone"],
        kind="colleague",
        status="active",
        handle=case["handle"],
        updated_at=_WRITTEN,
    )
    for group in (1, case["team"], case["place"]):
        context.db.insert("contacts_member", group_id=group, person_id=160)
    context.db.insert("chat_member", channel_id=1, person_id=160)


def _paper(context, number, name):
    context.db.insert(
        "files_item",
        id=number,
        kind="file",
        name=name,
        folder_id=414,
        owner="erik.pinto@fairlead.example",
        created_at=_WRITTEN,
        updated_at=_WRITTEN,
    )
    context.db.insert(
        "files_version",
        item_id=number,
        number=1,
        content="Keys, coffee, whom to ask for what.",
        author="erik.pinto@fairlead.example",
        saved_at=_WRITTEN,
    )
