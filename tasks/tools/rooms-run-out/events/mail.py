"""An invited person cannot come at the early time."""


def change(context):
    """Write a mail about it to the agent."""
    case = context.params["case"]
    context.call(
        "mail_send",
        sender=case["mail"],
        to=["erik.pinto@fairlead.example"],
        subject=case["title"],
        body=f"Hello Erik,\n\nI have just seen your invitation. At {case['first']} I have to take"
        f" my son to the doctor, there's no way around it. Later that day is fine."
        f"\n\n{case['who']}",
    )
