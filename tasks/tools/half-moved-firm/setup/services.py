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
    desk.call(
        "files_create_file",
        name="Change of name.txt",
        folder=414,
        content=f"{case['old']} -> {firm} (@{domain})\n\n{case['done_name']}: done\n"
        f"{case['firm_name']}: done\n{case['mail_name']}: not yet\n"
        f"{case['anew_name']}: entered. Is there an old one?\n",
    )
