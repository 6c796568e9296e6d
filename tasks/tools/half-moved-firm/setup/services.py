"""Does half of the change of name, and writes notes about it."""


def change(context):
    """Update one entry fully and two in part, and enter one person a second time."""
    case = context.params["case"]
    firm, domain = case["new"], case["domain"]
    done, mail = (f"{case[name]}@{domain}" for name in ("done_box", "mail_box"))
    context.call("contacts_update", person=case["done"], company=firm, email=done)
    context.call("contacts_update", person=case["firm"], company=firm)
    context.call("contacts_update", person=case["mail"], email=mail)
    context.call(
        "contacts_create",
        name=case["anew_name"],
        email=f"{case['anew_box']}@{domain}",
        company=firm,
        timezone="Europe/Berlin",
    )
    notes = context.call(
        "files_create_file",
        name="Change of name.txt",
        folder=414,
        content=f"{case['old']} -> {firm} (@{domain})\n\n{case['done_name']}: done\n"
        f"{case['firm_name']}: done\n{case['mail_name']}: not yet\n"
        f"{case['anew_name']}: entered. Is there an old one?\n",
    )
    friday = "2026-02-27T15:40:00Z"
    context.db.execute(
        "UPDATE files_version SET author = 'erik.pinto@fairlead.example', saved_at = ?"
        " WHERE item_id = ?",
        friday,
        notes["id"],
    )
    context.db.execute(
        "UPDATE files_item SET owner = 'erik.pinto@fairlead.example', created_at = ?1,"
        " updated_at = ?1 WHERE id = ?2",
        friday,
        notes["id"],
    )
    context.db.execute(
        "UPDATE contacts_person SET updated_at = ? WHERE updated_at = ?", friday, context.now
    )
