"""An intranet page with rates of two years, a page about cities, and the trips of a quarter."""

import datetime
import random

from browser import write_page
from documents import (
    FONT,
    HOME,
    finish,
    gold,
    new_workbook,
    parameters,
    save_workbook,
    table,
    title,
)
from openpyxl.styles import Font

EUROPE = (
    *("Austria", "Belgium", "Denmark", "France", "Iceland", "Ireland", "Italy", "Norway"),
    *("Poland", "Slovakia", "Slovenia", "Sweden"),
)
OVERSEAS = ("Australia", "Brazil", "Canada", "Chile", "India", "Japan", "Niger", "Nigeria")
TOWNS = {
    "Austria": ("Graz", "Linz"),
    "Belgium": ("Ghent", "Namur"),
    "Denmark": ("Aarhus", "Odense"),
    "France": ("Lille", "Nantes"),
    "Iceland": ("Akureyri", "Selfoss"),
    "Ireland": ("Cork", "Galway"),
    "Italy": ("Turin", "Parma"),
    "Norway": ("Bergen", "Molde"),
    "Poland": ("Gdynia", "Torun"),
    "Slovakia": ("Nitra", "Trnava"),
    "Slovenia": ("Maribor", "Kranj"),
    "Sweden": ("Uppsala", "Lund"),
    "Australia": ("Perth", "Hobart"),
    "Brazil": ("Recife", "Belem"),
    "Canada": ("Halifax", "Regina"),
    "Chile": ("Talca", "Arica"),
    "India": ("Pune", "Mysore"),
    "Japan": ("Osaka", "Nagoya"),
    "Niger": ("Niamey", "Zinder"),
    "Nigeria": ("Ibadan", "Jos"),
}
CITIES = {
    "Copenhagen": "Denmark",
    "Dublin": "Ireland",
    "Milan": "Italy",
    "Paris": "France",
    "Sydney": "Australia",
    "Tokyo": "Japan",
    "Toronto": "Canada",
}
TEAMS = ("Sales", "Support", "Training")
TRAVELLERS = {
    "Sales": ("Gita Nguyen", "Bo Lind", "Ruth Bellamy"),
    "Support": ("Jonas Petri", "Clara Fenwick", "Paul Marsh"),
    "Training": ("Nora Webb", "Miriam Adler", "Aoife Dunmore"),
}
LONG_NIGHTS, LONG_SHARE = 15, 0.8


def page(name, heading, parts):
    """Write a page of the intranet."""
    sections = ("People", "Travel", "Rooms")
    write_page(HOME / "Intranet" / name, "Fairlead intranet", sections, heading, parts)


def grid(first, rates):
    """Return a table of rates."""
    lines = "".join(
        f"<tr><td>{name}</td><td>{full}</td><td>{half}</td></tr>\n"
        for name, (full, half) in rates.items()
    )
    return f"<table>\n<tr><th>{first}</th><th>Full day</th><th>Half day</th></tr>\n{lines}</table>"


def drawn(low, high):
    """Return the rates of a place for a full and for a half day."""
    full = draw.randrange(low, high)
    return full, round(full * draw.uniform(0.58, 0.72))


given = parameters()
draw = random.Random(given["seed"])
now = {country: drawn(42, 66) for country in EUROPE}
now |= {country: drawn(48, 79) for country in OVERSEAS}
# Every rate of 2025 was lower, so that no trip gets the right one by chance.
before = {
    country: (full - draw.randrange(2, 6), half - draw.randrange(1, 4))
    for country, (full, half) in now.items()
}
cities = {
    city: (now[country][0] + draw.randrange(7, 16), now[country][1] + draw.randrange(5, 11))
    for city, country in CITIES.items()
}
corrected, printed_anew = draw.sample([c for c in EUROPE if c not in CITIES.values()], 2)
since = datetime.date(2026, 2, draw.randrange(9, 20))
told = since - datetime.timedelta(days=draw.randrange(5, 8))
right = (now[corrected][0] + draw.randrange(6, 10), now[corrected][1] + draw.randrange(4, 7))


def said(day):
    """Return a day as people write it."""
    return f"{day.day} {day:%B %Y}"


rest = [c for c in (*EUROPE, *OVERSEAS) if c not in (corrected, printed_anew)]
plain, other_year, stay, short = draw.sample([c for c in rest if c not in CITIES.values()], 4)
city, second_city = draw.sample(sorted(CITIES), 2)
february = [since - datetime.timedelta(days=n) for n in (draw.randrange(1, 6), 0)]


def days(month, low=3, high=26):
    """Return a day of a month of the quarter."""
    return datetime.date(2026, month, draw.randrange(low, high))


def town(country):
    """Return a place without a rate of its own."""
    return f"{draw.choice(TOWNS[country])}, {country}"


def own_trips():
    """Return the trips of the team: kind, place, begin, nights, rates."""
    december = datetime.date(2025, 12, draw.randrange(27, 31))
    nights = draw.randrange(LONG_NIGHTS, 22)
    lowered = (round(now[stay][0] * LONG_SHARE, 2), now[stay][1])
    return [
        ("plain", town(plain), days(1), draw.randrange(2, 6), now[plain]),
        ("plain", town(CITIES[city]), days(3), draw.randrange(2, 5), now[CITIES[city]]),
        ("plain", town(printed_anew), days(1), draw.randrange(1, 4), now[printed_anew]),
        ("plain", town(short), days(3), 0, now[short]),
        ("dated", town(corrected), february[0], draw.randrange(6, 9), now[corrected]),
        ("dated", town(corrected), february[1], draw.randrange(2, 5), right),
        ("dated", town(other_year), december, draw.randrange(6, 9), before[other_year]),
        ("city", f"{city}, {CITIES[city]}", days(2), draw.randrange(2, 6), cities[city]),
        ("long", town(stay), days(1), nights, lowered),
    ]


def other_trips():
    """Return the trips of other teams: place, begin, nights."""
    places = [town(country) for country in draw.sample(rest, 4)]
    places.append(f"{second_city}, {CITIES[second_city]}")
    return [(place, days(draw.randrange(1, 4)), draw.randrange(0, 18)) for place in places]


trips = [(given["team"], *trip) for trip in own_trips()]
others = [team for team in TEAMS if team != given["team"]]
trips += [(others[number % 2], "other", *trip, None) for number, trip in enumerate(other_trips())]
trips.sort(key=lambda trip: (trip[3], trip[2]))
rows, lines = [], []
for place, (team, kind, where, begin, nights, rates) in enumerate(trips):
    traveller = draw.choice(TRAVELLERS[team])
    rows.append([f"T-{4107 + place}", team, traveller, where, begin, nights, None, None, None])
    line = {"row": 5 + place, "kind": kind}
    if rates:
        full, half = rates
        allowance = (nights - 1) * full + 2 * half if nights else half
        line |= {"rates": [full, half], "allowance": round(allowance, 2)}
    lines.append(line)
gold("lines.json", lines)

page(
    "travel.html",
    "Travel allowances abroad",
    [
        '<p class="note">These rates hold for trips that begin in 2026. For some cities there are '
        '<a href="city-rates.html">rates for single cities</a>, and they go before those of the '
        "country. For trips that begin in 2025, see the section further down, whenever they "
        "end.</p>",
        "<h2>How a trip is counted</h2>",
        "<p>The day of departure and the day of return are half days. Every day between them is a "
        "full day: a trip of four nights has two half days and three full days. A trip without a "
        "night is one half day, wherever it goes.</p>",
        "<h2>Europe, 2026</h2>",
        "<p>All rates are in EUR.</p>",
        grid("Country", {country: now[country] for country in EUROPE}),
        "<h2>Overseas, 2026</h2>",
        grid("Country", {country: now[country] for country in OVERSEAS}),
        "<h2>Trips that begin in 2025</h2>",
        grid("Country", dict(sorted(before.items()))),
        "<h2>Long stays</h2>",
        f"<p>A trip of {LONG_NIGHTS} nights or more is a long stay. Its rate for a full day is "
        f"{LONG_SHARE:.0%} of the rate above, for all its full days; we do not round it. Its half "
        "days are paid like those of other trips.</p>",
        "<h2>Corrections</h2>",
        "<ul>",
        f"<li>12 January 2026: the half day for {printed_anew} was {now[printed_anew][1] - 3} by "
        f"mistake. It is {now[printed_anew][1]}, and the table above has it already.</li>",
        f"<li>{said(told)}: from {said(since)} on we pay {right[0]} for a full day and {right[1]} "
        f"for a half day in {corrected}. The table stays as it is, because trips that begin before "
        "that day keep its rates.</li>",
        "</ul>",
        "<p>Questions: Edda Holm, room 207</p>",
    ],
)
page(
    "city-rates.html",
    "Rates for single cities",
    [
        '<p>Back to <a href="travel.html">all countries</a>. These rates have not changed since '
        "2024; everywhere else in the country, its own rate holds. All rates are in EUR.</p>",
        grid("City", cities),
        "<p>Long stays are counted as on the other page.</p>",
    ],
)
book = new_workbook("Trips")
sheet = book["Trips"]
title(sheet, "Trips abroad, first quarter 2026", "Sorted by the day of departure")
table(
    sheet,
    4,
    ("Trip", "Team", "Traveller", "Place", "Begin", "Nights", "Full day", "Half day", "Allowance"),
    rows,
    (None, None, None, None, "yyyy-mm-dd", "0", "#,##0.00", "#,##0.00", "#,##0.00"),
    (9, 10, 16, 22, 12, 8, 11, 11, 12),
)
last = 4 + len(rows)
for column, value in ((1, "Total of all teams"), (9, f"=SUM(I5:I{last})")):
    cell = sheet.cell(last + 2, column, value)
    cell.font, cell.number_format = Font(name=FONT, size=10, bold=True), "#,##0.00"
save_workbook(book, HOME / "Travel" / "trips.xlsx")
finish(
    "firefox-esr file:///home/user/Intranet/travel.html",
    "libreoffice --calc /home/user/Travel/trips.xlsx",
)
