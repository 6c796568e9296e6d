"""Twenty photographs of a whiteboard; what was decided has a frame of one colour."""

import hashlib
import random

from documents import HOME, finish, gold, parameters
from photographs import blend, font, grain, save_jpeg, set_up_viewer
from PIL import Image, ImageDraw, ImageFilter

SIZE = (880, 600)
PENS = {"red": (196, 38, 44), "green": (28, 134, 72), "blue": (34, 78, 190)}
INK = (38, 40, 46)
TOPICS = (
    ("Front desk", "open until 18:30", "badges for guests", "second phone line"),
    ("Kitchen", "dishwasher twice a day", "fruit on Mondays", "coffee: new supplier?"),
    ("Meeting rooms", "booking for 90 min at most", "screens in B and C", "quiet corner"),
    ("Parking", "6 places for visitors", "charging point", "bicycle racks"),
    ("Travel", "rail first", "hotel list by city", "per diem 28 EUR"),
    ("Onboarding", "laptop on day one", "a mentor each", "tour of the house"),
    ("Summer party", "Friday 10 July", "barbecue in the yard", "music: ask Miriam"),
    ("Post", "collect at 11 and 16", "parcels: cellar", "no private parcels"),
    ("Cleaning", "offices on Tue and Fri", "windows in April", "plants?"),
    ("Website", "new pictures", "jobs page first", "English by autumn"),
    ("Archive", "keep ten years", "scan contracts", "shredder on floor 2"),
    ("Heating", "21 degrees", "off at weekends", "thermostats, room 14"),
    ("Training", "two days a year", "list by March", "budget 600 EUR"),
    ("Telephones", "headsets for all", "voice mail off", "numbers stay"),
    ("Lunch", "caterer until June", "vegan every day", "box for change"),
    ("Furniture", "desks 160 x 80", "12 chairs", "sofa for the hall"),
    ("Open day", "Saturday 9 May", "six guides", "leaflets"),
    ("Safety", "first aid course", "drill in May", "new exit signs"),
    ("Printers", "two instead of five", "paper: recycled", "toner on Mondays"),
    ("Newsletter", "every six weeks", "one page", "photos of people"),
)


def wobbly(pen, points, colour, draw, width):
    """Draw a line by hand along points."""
    path = []
    for (ax, ay), (bx, by) in zip(points, points[1:], strict=False):
        count = max(2, int((abs(bx - ax) + abs(by - ay)) / 24))
        for number in range(count):
            part = number / count
            x = ax + (bx - ax) * part + draw.uniform(-2, 2)
            path.append((x, ay + (by - ay) * part + draw.uniform(-2, 2)))
    path.append(points[-1])
    pen.line(path, fill=colour, width=width, joint="curve")


def board(topic, mark, colour, draw):
    """Return the photograph of a whiteboard with a topic and what is marked on it."""
    picture = blend((186, 184, 178), (150, 146, 140), SIZE)
    pen = ImageDraw.Draw(picture)
    left, top = draw.randrange(40, 80), draw.randrange(36, 64)
    right, bottom = SIZE[0] - draw.randrange(40, 80), SIZE[1] - draw.randrange(70, 100)
    pen.rectangle((left - 10, top - 10, right + 10, bottom + 10), fill=(118, 122, 126))
    picture.paste(
        blend((250, 250, 248), (228, 231, 234), (right - left, bottom - top)), (left, top)
    )
    pen.rectangle((left + 90, bottom + 10, right - 90, bottom + 24), fill=(98, 100, 104))
    x, y = left + draw.randrange(110, 190), top + draw.randrange(70, 100)
    pen.text((x, y), topic[0], font=font(50, italic=True), fill=INK)
    for number, line in enumerate(topic[1:]):
        at = (x + 14 + draw.randrange(8), y + 84 + 62 * number)
        pen.text(at, f"-  {line}", font=font(36, italic=True), fill=INK)
    wide = max(round(font(36, italic=True).getlength(line)) for line in topic[1:]) + 80
    box = (x - 44, y - 34, x + max(wide, 300) + draw.randrange(10, 40), y + 284)
    if mark == "frame":
        corners = [
            (box[0], box[1]),
            (box[2], box[1] + 6),
            (box[2] - 5, box[3]),
            (box[0] + 6, box[3]),
        ]
        wobbly(pen, [*corners, (box[0], box[1] - 8)], colour, draw, 7)
    elif mark == "line":
        for shift in (0, 9):
            end = x + font(50, italic=True).getlength(topic[0])
            wobbly(pen, [(x, y + 62 + shift), (end, y + 60 + shift)], colour, draw, 6)
    elif mark == "arrow":
        tip, low = (x - 24, y + 110), y + 250
        wobbly(pen, [(x - 70, low), tip], colour, draw, 6)
        wobbly(pen, [(tip[0] - 26, tip[1] + 14), tip, (tip[0] + 2, tip[1] + 30)], colour, draw, 6)
    picture = picture.rotate(
        draw.uniform(-1.6, 1.6), Image.Resampling.BICUBIC, fillcolor=(160, 157, 151)
    )
    return grain(picture.filter(ImageFilter.GaussianBlur(0.9)), draw, 10)


given = parameters()
draw = random.Random(given["seed"])
own = PENS[given["colour"]]
others = [value for name, value in PENS.items() if name != given["colour"]]
marks = [("frame", own)] * 6 + [("frame", others[0])] * 3 + [("frame", others[1])] * 2
marks += [("line", own)] * 2 + [("arrow", own)] * 2 + [("line", others[0])] + [(None, own)] * 4
topics = list(TOPICS)
draw.shuffle(marks)
draw.shuffle(topics)
folder, number, chosen = HOME / "Photos", 3100 + draw.randrange(60), []
for topic, (mark, colour) in zip(topics, marks, strict=True):
    number += draw.choice((1, 1, 1, 2))
    path = folder / f"IMG_{number}.jpg"
    save_jpeg(board(topic, mark, colour, draw), path, 84)
    if mark == "frame" and colour == own:
        chosen.append(hashlib.sha256(path.read_bytes()).hexdigest())
gold("chosen.json", chosen)
(HOME / "Report").mkdir()
(HOME / "Report" / "outline.txt").write_text(
    "Report on the office days\n\n1. What we talked about\n"
    "2. What was decided (photos)\n3. Who does what\n"
)
set_up_viewer()
finish(f"thunar {folder}")
