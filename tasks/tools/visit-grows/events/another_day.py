"""The guests come a day later, and there are more of them."""


def change(context):
    """Write Mateo's mail in the same thread."""
    context.call(
        "mail_send",
        sender="mateo.rossi@granitepartners.example",
        to=["erik.pinto@fairlead.example"],
        subject="Re: May we come by?",
        body="Dear Erik,\n\nI am sorry: our train only goes on Thursday, 12 March. Half past eleven"
        " would be good. And word has got around here, so there will be ten of us now,"
        " including me.\n\nMateo",
    )
