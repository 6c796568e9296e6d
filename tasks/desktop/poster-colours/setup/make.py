"""A poster for three rooms; the field of one room has a colour that no note allows."""

import os
from pathlib import Path

from documents import HOME, finish, parameters
from photographs import font, save_png, set_up_drawing
from PIL import Image, ImageDraw

ROOMS = ("Harbour", "Orchard", "Quarry")
PALETTES = {
    "paint": ("#1D5C8F", "#3F7D3A", "#A8552B"),
    "tape": ("#2B6F77", "#6B7F2A", "#8C3F4F"),
    "chalk": ("#3A4E9B", "#2F7F5F", "#B0632A"),
}
INK = "#22303C"
WRONG = "#8E8E93"
SIZE, FIELDS, WIDE, HIGH = (960, 640), (60, 356, 652), 248, 236


def poster(colours):
    """Return the poster with a colour for each room."""
    picture = Image.new("RGB", SIZE, "#FBF8F1")
    pen = ImageDraw.Draw(picture)
    pen.rectangle((0, 0, SIZE[0], 118), fill=INK)
    pen.text((60, 30), "Where to find us on the open day", font=font(44, bold=True), fill="white")
    pen.text((60, 140), "Follow the colour of the line on the floor.", font=font(26), fill=INK)
    for (name, colour), left in zip(colours.items(), FIELDS, strict=True):
        pen.rectangle((left, 200, left + WIDE - 1, 200 + HIGH - 1), fill=colour)
        pen.text((left, 456), name, font=font(36, bold=True), fill=INK)
    uses = ("Talks, floor 1", "Coffee, floor 2", "Workshops, cellar")
    for text, left in zip(uses, FIELDS, strict=True):
        pen.text((left, 502), text, font=font(24), fill=INK)
    pen.text((60, 580), "Fairlead Software, Harbour Street 12", font=font(22), fill="#6A6F75")
    return picture


given = parameters()
rooms = dict(zip(ROOMS, PALETTES[given["line"]], strict=True))
path = HOME / "Pictures" / "poster.png"
save_png(poster(rooms | {given["room"]: WRONG}), path)
save_png(poster(rooms), Path(os.environ["AGENTGYM_GOLD"]) / "poster.png")
lines = "".join(f"  {name:10}{colour}\n" for name, colour in rooms.items())
head = f"Colours of the rooms, for posters and for the {given['line']} on the floor"
(HOME / "colours.txt").write_text(f"{head}\n\n{lines}")
set_up_drawing()
finish("mousepad /home/user/colours.txt", f"drawing {path}")
