"""A photograph with a printed date, a flyer with two open lines, and a brief that was changed."""

import os
import random
from pathlib import Path

from documents import HOME, finish, gold, new_document, parameters, save_document
from docx.shared import Pt
from photographs import font, grain, harbour, save_png, set_up_drawing
from PIL import Image, ImageDraw

SIZE = (900, 620)
BLANK = "_" * 24
PLACES = (
    "Quay {}, behind the fish market",
    "Quay {}, at the old crane",
    "Quay {}, by the lighthouse",
)
DAYS = ("Saturday, 13 June 2026", "Friday, 19 June 2026", "Sunday, 5 July 2026")
given = parameters()
draw = random.Random(given["seed"])
event, slug = given["event"], given["event"].lower().replace(" ", "-")
strip, width = draw.randrange(34, 62, 2), draw.randrange(420, 600, 20)
first, second = draw.sample(range(2, 9), 2)
place, day = draw.choice(PLACES), draw.choice(DAYS)
begins = draw.choice((5, 6, 7))
changes_place = draw.random() < 0.5

photo = harbour(given["seed"], (SIZE[0], SIZE[1] - strip))
whole = Image.new("RGB", SIZE, (22, 22, 26))
whole.paste(photo, (0, 0))
pen = ImageDraw.Draw(whole)
pen.text(
    (SIZE[0] - 190, SIZE[1] - strip + 6), "12-04-2026  18:41", font=font(20), fill=(236, 150, 60)
)
whole = grain(whole, draw, 4)
folder = HOME / "Flyer"
save_png(whole, folder / "photo-0412.png")
cut = whole.crop((0, 0, SIZE[0], SIZE[1] - strip))
small = cut.resize((width, round(width * cut.height / cut.width)), Image.Resampling.BICUBIC)
save_png(small, Path(os.environ["AGENTGYM_GOLD"]) / "picture.png")

when = f"{day}, {begins} pm to {begins + 4} pm"
late = f"{day}, {begins + 1} pm to {begins + 4} pm"
where = place.format(first)
change = (
    f"The port authority gives us Quay {second} and not Quay {first}; the rest of the line stays."
    if changes_place
    else f"We begin at {begins + 1} pm and not at {begins} pm; the end stays."
)
(folder / "brief.txt").write_text(
    f"Brief for the flyer of the {event}\n\n"
    "Picture: take photo-0412.png. The camera has printed the date below it. Cut off the\n"
    f"lowest {strip} pixels with it, and nothing else. Then scale the picture to a width of\n"
    f"{width} pixels, with its proportions kept, and save it as {slug}.png in the same folder.\n\n"
    "The two lines:\n\n"
    f"When: {when}\n"
    f"Where: {where}\n\n"
    f"Name of the PDF: {slug}-flyer.pdf\n\n"
    "The mark for the map stays in the flyer, the printer needs it.\n\n"
    f"Change of this morning: {change}\n"
)
if changes_place:
    where = place.format(second)
else:
    when = late

TEXT = (
    event,
    "An evening by the water with music, food and small boats.",
    "The choir of the rowing club sings at eight, and the children fold paper ships.",
    "[Picture here]",
    f"When: {BLANK}",
    f"Where: {BLANK}",
    "Tickets: at the gate, 6 EUR, children free",
    "[Map here]",
    "The Friends of the Old Harbour",
)
document = new_document()
document.styles["Normal"].paragraph_format.space_after = Pt(8)
for number, text in enumerate(TEXT):
    run = document.add_paragraph().add_run(text)
    run.bold = number == 0 or text.startswith("The Friends")
    run.font.size = Pt(26 if number == 0 else 12)
save_document(document, folder / "flyer.docx")
filled = [
    f"When: {when}"
    if text.startswith("When")
    else f"Where: {where}"
    if text.startswith("Where")
    else text
    for text in TEXT
    if text != "[Picture here]"
]
gold(
    "flyer.json",
    {
        "texts": filled,
        "place": TEXT.index("[Picture here]"),
        "size": small.size,
        "picture": f"{slug}.png",
        "pdf": f"{slug}-flyer.pdf",
    },
)
set_up_drawing()
finish(
    f"drawing {folder}/photo-0412.png",
    f"mousepad {folder}/brief.txt",
    f"libreoffice --writer {folder}/flyer.docx",
)
