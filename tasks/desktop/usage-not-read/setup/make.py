"""Readings of three meters, one of which was not read for a month, and the usage from them."""

from documents import HOME, finish, new_workbook, parameters, save_workbook, table, title

MONTHS = ("January", "February", "March", "April", "May", "June")
HALLS = {
    "North": (48_210, (1_812, 1_764, 1_690, 1_455, 1_302, 1_248)),
    "South": (31_904, (1_120, 1_098, 1_041, 988, 930, 907)),
    "East": (72_655, (2_340, 2_295, 2_180, 2_066, 1_974, 1_890)),
}
given = parameters()
hall, missing = given["hall"], MONTHS.index(given["month"])

usage, readings = [[month] for month in MONTHS], [["December"], *([month] for month in MONTHS)]
for name, (start, used) in HALLS.items():
    readings[0].append(start)
    for place, amount in enumerate(used):
        start += amount
        lacks = name == hall and place == missing
        readings[place + 1].append(None if lacks else start)
        # Without a reading, that month and the next one cannot be told.
        usage[place].append(None if name == hall and place in (missing, missing + 1) else amount)
for place, row in enumerate(readings):
    row.append(f"{hall}: not read ({given['why']})" if place == missing + 1 else None)
readings[1][-1] = "South: new lamps"

book = new_workbook("Usage", "Readings", "Prices")
sheet = book["Usage"]
title(sheet, "Electricity, first half of 2026", "Usage of each hall in kWh")
table(sheet, 4, ("Month", *HALLS), usage, (None, *["#,##0"] * 3), (16, 12, 12, 12))
sheet = book["Readings"]
title(sheet, "Meters", "Reading at the end of the month in kWh")
columns = ("Month", *HALLS, "Remark")
table(sheet, 4, columns, readings, (None, *["#,##0"] * 3), (16, 12, 12, 12, 30))
sheet = book["Prices"]
title(sheet, "Prices")
table(sheet, 3, ("From", "EUR a kWh"), [["2026-01", 0.312], ["2026-04", 0.298]], (), (16, 12))
save_workbook(book, HOME / "energy.xlsx")
finish("libreoffice --calc /home/user/energy.xlsx")
