"""Sends and drafts the mails that existed on Friday."""

SUBJECT = "Your contract in 2026"
ME = "erik.pinto@fairlead.example"


def _body(name, product, end, manager):
    return (
        f"Dear {name},\n\nyour contract for {product} ends on {end}. Our prices stay as they are,"
        f" and {manager} will be in touch with you about what comes next.\n\n"
        "Erik Pinto\nFairlead Software"
    )


def change(context):
    """Send three mails, of which two come back, and one in Petra's name; save three drafts."""
    known = context.db.value("SELECT max(id) FROM mail_message")
    sent = (
        ("adele.hansen@harbourlane.example", "Adele Hansen", "Parcelhub", "7 April 2026",
         "Carlos Kim"),
        ("edith.mwangi@lakeshore-cu.example", "Edith Mwangi", "Vaultdrive", "12 May 2026",
         "Jae Baptista"),
        ("nadia.bergmann@copperfield-books.example", "Nadia Bergmann", "Ledgerly", "20 June 2026",
         "David Tan"),
    )  # fmt: skip
    for email, *rest in sent:
        context.call("mail_send", to=[email], subject=SUBJECT, body=_body(*rest))
    context.call(
        "mail_send",
        sender="petra.faria@fairlead.example",
        to=["victor.aguilar@deltafreight.example"],
        cc=[ME],
        subject="Delta Freight in June",
        body="Dear Victor,\n\nyour contract for Ledgerly ends on 6 June. Prices stay as they are,"
        " and you have me to talk to, as ever.\n\nPetra Faria",
    )
    drafts = (
        ("andre.eriksen@eastgateclinic.example", "André Eriksen", "Rosterboard", "5 May 2026",
         "Gita Nguyen"),
        ("rosa.vogel@ironbridge.example", "Rosa Vogel", "Rosterboard", "13 March 2026",
         "Gita Nguyen"),
        ("lucia.richter@cascade-outdoor.example", "Lucia Richter", "Parcelhub", "10 June 2026",
         "Petra Faria"),
    )  # fmt: skip
    for email, *rest in drafts:
        context.call("mail_save_draft", to=[email], subject=SUBJECT, body=_body(*rest))
    context.db.execute(
        "UPDATE mail_message SET updated_at = '2026-02-27T16:' || (id - ?1 + 10) || ':00Z',"
        " sent_at = CASE WHEN folder_id = 3 THEN NULL"
        " ELSE '2026-02-27T16:' || (id - ?1 + 10) || ':00Z' END WHERE id > ?1",
        known,
    )
