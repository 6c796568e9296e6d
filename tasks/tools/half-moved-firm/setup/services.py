"""What was done on Friday, and what the notes say of it."""


def change(desk):
    """Move one, half-move two, and enter one anew."""
    case = desk.params["case"]
    firm, domain = case["new"], case["domain"]
    done, mail = (f"{case[name]}@{domain}" for name in ("done_box", "mail_box"))
    desk.call("contacts_update", person=case["done"], company=firm, email=done)
    desk.call("contacts_update", person=case["firm"], company=firm)
    desk.call("contacts_update", person=case["mail"], email=mail)
    desk.call(
        "contacts_create",
        name=case["anew_name"],
        email=f"{case['anew_box']}@{domain}",
        company=firm,
        timezone="Europe/Berlin",
    )
    notes = desk.call(
        "files_create_file",
        name="Change of name.txt",
        folder=414,
        content=f"{case['old']} -> {firm} (@{domain})\n\n{case['done_name']}: done\n"
        f"{case['firm_name']}: done\n{case['mail_name']}: not yet\n"
        f"{case['anew_name']}: entered. Is there an old one?\n",
    )
    friday = "2026-02-27T15:40:00Z"
    desk.db.execute(
        "UPDATE files_version SET author = 'erik.pinto@fairlead.example', saved_at = ?"
        " WHERE item_id = ?",
        friday,
        notes["id"],
    )
    desk.db.execute(
        "UPDATE files_item SET owner = 'erik.pinto@fairlead.example', created_at = ?1,"
        " updated_at = ?1 WHERE id = ?2",
        friday,
        notes["id"],
    )
    desk.db.execute(
        "UPDATE contacts_person SET updated_at = ? WHERE updated_at = ?", friday, desk.now
    )
