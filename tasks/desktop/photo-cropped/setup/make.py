"""The scan of an old photograph: a print with a white border on the dark lid of the scanner."""

import random

from documents import HOME, finish, gold, parameters
from photographs import blend, grain, harbour, save_png, set_up_drawing
from PIL import Image, ImageDraw, ImageFilter

given = parameters()
draw = random.Random(given["seed"])
size = (draw.randrange(560, 680, 2), draw.randrange(380, 450, 2))
photo = harbour(given["seed"], size)
border = 22
at = (draw.randrange(70, 200), draw.randrange(60, 130))
page = (960, 640)

scan = blend((74, 76, 78), (60, 62, 66), page)
left, top, right, bottom = at[0], at[1], at[0] + size[0], at[1] + size[1]
shadow = Image.new("L", page, 0)
edge = (left - border, top - border, right + border - 1, bottom + border - 1)
ImageDraw.Draw(shadow).rectangle([value + 6 for value in edge], fill=150)
scan.paste((20, 20, 22), mask=shadow.filter(ImageFilter.GaussianBlur(7)))
ImageDraw.Draw(scan).rectangle(edge, fill=(243, 240, 231))
scan = grain(scan, draw, 4)
scan.paste(photo, at)

path = HOME / "Pictures" / "scan-0412.png"
save_png(scan, path)
gold("photo.json", {"box": [left, top, right, bottom]})
set_up_drawing()
finish(f"drawing {path}")
