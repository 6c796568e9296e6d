"""The sheet of a month's takings, and what three branches have sent for it."""

import random

from documents import HOME, finish, gold, new_workbook, parameters, save_workbook, table, title

BRANCHES = ("Harbour Street", "Old Market", "Station")
given = parameters()
month, draw = given["month"], random.Random(given["seed"])

book = new_workbook("Takings", "Targets")
sheet = book["Takings"]
title(sheet, f"Takings {month} 2026", "Net of refunds, in EUR. One line for each branch.")
columns = ("Branch", "Week 1", "Week 2", "Week 3", "Week 4", "Month")
rows = [
    [name, None, None, None, None, f"=SUM(B{5 + n}:E{5 + n})"] for n, name in enumerate(BRANCHES)
]
rows.append(["All branches", *(f"=SUM({letter}5:{letter}7)" for letter in "BCDEF")])
table(sheet, 4, columns, rows, (None, *["#,##0.00"] * 5), (24, 13, 13, 13, 13, 14))
goals = book["Targets"]
title(goals, "Targets 2026")
table(
    goals,
    3,
    ("Branch", "Month"),
    [[name, 21_000 + 1_500 * n] for n, name in enumerate(BRANCHES)],
    (None, "#,##0"),
    (24, 13),
)
save_workbook(book, HOME / f"takings-{month}.xlsx")

net = []
for name in BRANCHES:
    own = new_workbook("Weeks")
    weeks = [
        [f"Week {week}", draw.randrange(380_000, 690_000) / 100, draw.randrange(900, 42_000) / 100]
        for week in range(1, 5)
    ]
    net.append([round(takings - refunds, 2) for _, takings, refunds in weeks])
    title(own["Weeks"], f"{name}: takings of {month}", "Sent by the branch manager")
    formats = (None, "#,##0.00", "#,##0.00")
    table(own["Weeks"], 4, ("Week", "Takings", "Refunds"), weeks, formats, (14, 14, 14))
    save_workbook(own, HOME / "Attachments" / f"{name.lower().replace(' ', '-')}.xlsx")
gold("net.json", net)
gold("total.json", [[round(sum(map(sum, net)), 2)]])
# A branch that has closed sends nothing of its own any more.
(HOME / "Attachments" / "old-newsletter.txt").write_text("Autumn offers: see the notice board.\n")
finish("thunar /home/user/Attachments", f"libreoffice --calc /home/user/takings-{month}.xlsx")
