"""Writes the list: three products in a colour that has doubles, three people, three cards."""

ITEMS = (
    ("Coat rack Brühl No. 2", "black"),
    ("Rucksack Oak 45 cm", "sage"),
    ("Desk lamp Oak No. 4", "mustard"),
    ("Tape measure Værk No. 4", "white"),
    ("Kettle Kestra small", "mustard"),
    ("Teapot Brühl No. 4", "white"),
    ("Plant pot Brühl No. 2", "grey"),
    ("Notebook Værk small", "grey"),
)
PEOPLE = (
    ("Elif Yılmaz", "Rue Verte 41", "69001", "Lyon", "France"),
    ("Owen Dahl", "Storgatan 7", "21120", "Malmö", "Sweden"),
    ("Priya Iyer", "Parkweg 18", "1010", "Wien", "Austria"),
    ("Femi Usman", "Hauptstr. 3", "20095", "Hamburg", "Germany"),
    ("Inês Costa", "Veldstraat 52", "9000", "Gent", "Belgium"),
)
CARDS = ("Happy birthday!", "For the new flat.", "Thank you for the summer.", "Get well soon, Nora")


def change(context):
    """Draw the list and keep it as a draft of Nora's."""
    draw = context.rng.sample
    lines = [
        f"{context.rng.randint(1, 3)} x {title} ({colour}) to {', '.join(person)}; card: {card}"
        for (title, colour), person, card in zip(
            draw(ITEMS, 3), draw(PEOPLE, 3), draw(CARDS, 3), strict=True
        )
    ]
    context.db.insert(
        "forum_draft",
        user_id=1,
        board_id=6,
        title="Presents",
        body="Presents\n\n" + "\n\n".join(lines),
        updated_at="2026-03-01T21:30:00Z",
    )
