"""The logo of a firm for print, far too large for a newsletter."""

import os
from pathlib import Path

from documents import HOME, finish, parameters
from photographs import font, save_jpeg, save_png, set_up_drawing
from PIL import Image, ImageDraw

SIZE = (1500, 600)
SIGNS = {
    "Fairlead": ("#1d4f8c", "#e8792b"),
    "Tidewater": ("#0e6b62", "#d9b13b"),
    "Lanternway": ("#6b2c5f", "#e0a030"),
}

given = parameters()
dark, light = SIGNS[given["firm"]]
large = Image.new("RGB", (2 * SIZE[0], 2 * SIZE[1]), "white")
pen = ImageDraw.Draw(large)
pen.ellipse((120, 160, 1000, 1040), fill=dark)
pen.polygon([(520, 260), (520, 800), (250, 800)], fill="white")
pen.polygon([(570, 380), (570, 800), (840, 800)], fill=light)
pen.polygon([(230, 850), (880, 850), (780, 950), (330, 950)], fill="white")
pen.text((1110, 290), given["firm"], font=font(300, bold=True), fill=dark)
pen.text((1122, 670), "Software", font=font(230), fill="#4c5560")
pen.rectangle((1122, 960, 2840, 980), fill=light)
logo = large.resize(SIZE, Image.Resampling.LANCZOS)

folder = HOME / "Pictures"
path = folder / "logo-print.png"
save_png(logo, path)
save_jpeg(logo.convert("L").convert("RGB").resize((750, 300)), folder / "logo-grey.jpg")
height = given["width"] * SIZE[1] // SIZE[0]
small = logo.resize((given["width"], height), Image.Resampling.BICUBIC)
save_png(small, Path(os.environ["AGENTGYM_GOLD"]) / "small.png")
set_up_drawing()
finish(f"drawing {path}")
