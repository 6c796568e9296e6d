"""Reads both pages, works out every trip of the team, and fills in its line."""

import datetime
import re

from agentgym.task.reference_policy import shared_policies

browser = shared_policies("desktop", "browser")
office = shared_policies("desktop", "office")

RATE = re.compile(r"^([A-Z][a-z]+)\s+(\d+)\s+(\d+)\s*$", re.MULTILINE)
CORRECTION = re.compile(
    r"from (\d+ \w+ \d{4}) on we pay (\d+) for a full day and (\d+) for a half day in (\w+)"
)
LONG = re.compile(r"A trip of (\d+) nights or more is a long stay.*?(\d+)% of", re.DOTALL)
LAST = 18


def rates_in(text):
    """Return the rates of a table by country or city."""
    return {name: (float(full), float(half)) for name, full, half in RATE.findall(text)}


def read(text):
    """Return the rates of 2026 and of 2025, the correction and the rule for long stays."""
    current, _, rest = text.partition("Trips that begin in 2025\n")
    earlier, _, rest = rest.partition("Long stays")
    day, full, half, country = CORRECTION.search(rest).groups()
    since = datetime.datetime.strptime(day, "%d %B %Y").date()
    correction = (since, country, (float(full), float(half)))
    return rates_in(current), rates_in(earlier), correction, LONG.search(rest).groups()


def rates_of(place, begin, nights, pages):
    """Return the rates that apply to a trip."""
    (current, earlier, (since, corrected, newer), (longest, share)), cities = pages
    city, country = place.split(", ")
    if begin.year == 2025:
        full, half = earlier[country]
    elif country == corrected and begin >= since:
        full, half = newer
    else:
        full, half = current[country]
    full, half = cities.get(city, (full, half))
    if nights >= int(longest):
        full = full * int(share) / 100
    return full, half


def solve(view):
    team = re.search(r"allowances of team (\w+)", office.told(view))[1]
    yield from office.switch_to(view, "^Travel allowances")
    country_page = yield from browser.copy_page(view, "Questions: ")
    yield from browser.follow(view, "rates for single cities", "^Rates for single cities")
    city_page = yield from browser.copy_page(view, "Long stays are counted")
    pages = read(country_page), rates_in(city_page)
    yield from office.switch_to(view, r"^trips\.xlsx")
    yield from office.cells_come(view, f"A{LAST}", f"F{LAST}")
    shown = office.cells(view)
    for row in range(5, LAST + 1):
        if shown[f"B{row}"] != team:
            continue
        begin = datetime.date.fromisoformat(shown[f"E{row}"])
        nights = int(shown[f"F{row}"])
        full, half = rates_of(shown[f"D{row}"], begin, nights, pages)
        allowance = (nights - 1) * full + 2 * half if nights else half
        yield from office.enter(view, f"G{row}", [[full, half, round(allowance, 2)]])
    yield from office.save(view)
