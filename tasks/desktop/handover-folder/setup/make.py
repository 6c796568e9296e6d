"""The folder of a project: papers that say what they are, pictures, a list of contacts."""

import datetime
import hashlib
import random

from documents import HOME, finish, gold, parameters
from PIL import Image, ImageDraw

PAPERS = {
    "budget.txt": ("Budget of the trade fair stand", "Stand 14 sqm, hall 3: 8,400 EUR."),
    "catering.txt": ("Catering at the stand", "Coffee and water for three days, no lunch."),
    "costs-draft.txt": ("Costs by month", "November 2,200 EUR, December 4,900 EUR."),
    "goals.txt": ("Goals of the project", "Forty talks with customers, ten of them new."),
    "interview-holm.txt": ("Interview with Greta Holm", "She would like shorter manuals."),
    "layout-final.txt": ("Layout of the stand", "Table on the left, screen at the back."),
    "letter-to-press.txt": ("Letter to the press", "Lantern is shown for the first time."),
    "minutes.txt": ("Minutes of the first meeting", "Tomas asks for a second screen."),
    "posters-draft.txt": ("Texts of the posters", "Light where you need it."),
    "schedule.txt": ("Schedule of the fair", "Set up on Monday from 8 o'clock."),
    "survey.txt": ("Survey among visitors", "Which of our products do you know?"),
    "travel-final.txt": ("Travel to the fair", "Six people by train: 1,150 EUR."),
}
PICTURES = ("hall.png", "lantern.jpg", "stand.png")
CONTACTS = "Greta Holm, fair office, 0421 555 0117\nTomas Reuter, stand, 030 555 0162\n"


def picture(path, colours):
    """Draw what could be a plan: areas of three colours."""
    made = Image.new("RGB", (480, 320), colours[0])
    pen = ImageDraw.Draw(made)
    pen.rectangle((60, 60, 260, 250), fill=colours[1], outline="black", width=3)
    pen.ellipse((300, 90, 420, 210), fill=colours[2], outline="black", width=3)
    made.save(path)


given = parameters()
draw = random.Random(given["seed"])
limit = datetime.datetime.strptime(given["limit"], "%d %B %Y").date()
# Four are final, of any day. Four drafts stay, one of them of the very day; four are too old.
kinds = ["final"] * 4 + ["draft"] * 4 + ["gone"] * 4
after = [0, *draw.sample(range(1, 30), 3)]
before = [1, *draw.sample(range(2, 40), 3)]
free = [-draw.randrange(2, 40), *draw.sample(range(30), 3)]
offsets = [*free, *after, *(-days for days in before)]
cases = list(zip(kinds, offsets, strict=True))
draw.shuffle(cases)
# At least one name says the wrong thing.
while cases[list(PAPERS).index("layout-final.txt")][0] == "final":
    draw.shuffle(cases)
folder = HOME / "Handover"
folder.mkdir()
sorted_files = {"Final": {}, "Drafts": {}, "Pictures": {}, "gone": {}}
for (name, (title, text)), (kind, offset) in zip(PAPERS.items(), cases, strict=True):
    day = limit + datetime.timedelta(days=offset)
    state = "Final version" if kind == "final" else "Draft"
    written = f"{state} of {day.day} {day:%B %Y}\nProject Lantern\n\n{title}\n\n{text}\n"
    (folder / name).write_text(written)
    place = {"final": "Final", "draft": "Drafts"}.get(kind, "gone")
    sorted_files[place][name] = hashlib.sha256(written.encode()).hexdigest()
for name in PICTURES:
    colours = ["#" + "".join(draw.choice("89abcdef") for _ in range(6)) for _ in range(3)]
    picture(folder / name, colours)
    sorted_files["Pictures"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
(folder / "contacts.txt").write_text(CONTACTS)
(folder / "index.txt").write_text("Final papers of the project Lantern\nconcept.txt\nminutes.txt\n")
gold("folder.json", sorted_files)
finish("thunar /home/user/Handover")
