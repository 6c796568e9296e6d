"""Four of the ten guests stay at home."""


def change(context):
    """Write Mateo's mail."""
    context.call(
        "mail_send",
        sender="mateo.rossi@granitepartners.example",
        to=["erik.pinto@fairlead.example"],
        subject="Re: May we come by?",
        body="Dear Erik,\n\nthe site manager needs people on Thursday, so four of the ten stay here"
        " after all. The rest of us look forward to it. Same day, same hour.\n\nMateo",
    )
