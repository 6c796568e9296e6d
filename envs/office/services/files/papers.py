"""The content of the drive: folders by department, and papers with their text.

Names and texts may hold ``year``, ``quarter``, ``month``, ``customer``, ``product``, ``supplier``,
``office``, ``n`` and ``sum`` in braces; a paper is written once for each value in its name.
"""

from __future__ import annotations

YEARS = (2024, 2025, 2026)
QUARTERS = ("Q1", "Q2", "Q3", "Q4")

DEPARTMENT = {"Company": "Management", "Office": "Management"}
"""Departments whose folders have another name."""

PAPERS = {
    "Company": {
        "Handbook": (
            ("Welcome.md", "Welcome to Fairlead Software. Your first week, your team, your keys."),
            ("Travel policy {year}.md", "Trips are booked {n} days ahead. Hotel up to EUR {n}0."),
            ("Expense policy {year}.md", "Receipts within {n} days. Meals up to EUR 45 a day."),
            ("Home office rules.md", "Up to three days a week; core hours are 10:00 to 15:00."),
        ),
        "Templates": (
            ("Letter.txt", "Fairlead Software\nKanalstrasse 14\nBerlin\n\nDear Sir or Madam,\n"),
            ("Minutes.txt", "Present:\nApologies:\nDecisions:\nTo do:\n"),
            ("Offer {product}.txt", "Offer for {product}\nSeats:\nPrice a seat: EUR\n"),
        ),
        "Brand": (
            ("Logo.png", "The logo in colour."),
            ("Logo white.png", "The logo for dark backgrounds."),
            ("Colours.md", "Blue 1F4E79, sand D9C9A3, grey 5A5A5A."),
        ),
    },
    "Finance": {
        "Budgets": (
            ("Budget {year}.txt", "Budget {year}: EUR {sum} in all, of it {n} percent for staff."),
            (
                "Budget {year} {quarter} review.txt",
                "Spent by {quarter}: EUR {sum}. {n} open items.",
            ),
        ),
        "Invoices": (),
        "Taxes": (
            ("VAT return {year} {quarter}.txt", "VAT for {quarter} {year}: EUR {sum} to be paid."),
        ),
    },
    "Sales": {
        "Contracts": (
            ("Contract {customer}.txt", "{customer} rents {n} seats until {month} {year}."),
            ("Amendment {customer}.txt", "From {month} {year}, {customer} has {n} seats."),
        ),
        "Offers": (("Offer {customer}.txt", "{n} seats of {product} for {customer}: EUR {sum}."),),
        "Decks": (
            ("Pitch {product}.txt", "Why {product}: {n} customers, {sum} hours saved."),
            ("Pipeline {year} {quarter}.png", "Pipeline at the end of {quarter} {year}."),
        ),
    },
    "Product": {
        "Roadmaps": (
            ("Roadmap {product} {year}.md", "{product} in {year}: {n} items, first the export."),
        ),
        "Research": (
            (
                "Interviews {product}.md",
                "{n} talks about {product}. Most asked for: faster export.",
            ),
            ("Survey {year}.txt", "{sum} answers, {n} percent content."),
        ),
        "Releases": (
            (
                "Release notes {product} {year} {quarter}.md",
                "{product} {quarter} {year}: {n} fixes.",
            ),
        ),
    },
    "Engineering": {
        "Runbooks": (
            (
                "Runbook {product}.md",
                "Restart {product}: drain, wait {n} minutes, then one by one.",
            ),
            ("On call {year}.txt", "The phone goes round every {n} days; swaps by Thursday."),
        ),
        "Incidents": (
            ("Incident {product} {year}.md", "{product} was down for {n} minutes. No data lost."),
        ),
    },
    "Support": {
        "Macros": (
            ("Answer {product}.txt", "Hello, thank you for writing about {product}. We are on it."),
        ),
        "Reports": (
            ("Tickets {year} {quarter}.txt", "{quarter} {year}: {n} tickets answered late."),
        ),
    },
    "Marketing": {
        "Campaigns": (
            ("Campaign {product} {year}.md", "{product}: {n} visitors a day, EUR {sum} in all."),
        ),
        "Events": (("Fair {year}.txt", "Booth of {n} square metres, EUR {sum}."),),
    },
    "People": {
        "Reviews": (("Review round {year}.txt", "{n} talks held, {n} still open."),),
        "Salaries": (("Salary bands {year}.txt", "Band C begins at EUR {sum}."),),
        "Hiring": (
            ("Job advert {product} engineer.md", "We look for an engineer for {product}."),
            ("Onboarding checklist.md", "Laptop, badge, accounts, first talk after {n} days."),
        ),
    },
    "Legal": {
        "Supplier contracts": (
            ("Contract {supplier}.txt", "{supplier}: EUR {sum} a year, notice by {month} {year}."),
        ),
        "Confidentiality": (("NDA {supplier}.txt", "Between us and {supplier}, {n} years."),),
    },
    "IT": {
        "Guides": (
            ("VPN setup.md", "Install the profile; it holds {n} days."),
            (
                "Laptop handover.md",
                "Note the asset in the workbook Laptops before handing it over.",
            ),
        ),
        "Licences": (("Licences {year}.txt", "{n} seats of the editor, EUR {sum} a year."),),
    },
    "Office": {
        "Space": (
            ("Floor plan {office}.png", "The {office} office."),
            ("Seating {office}.txt", "{n} desks taken in {office}, the rest is shared."),
            ("Lease {office}.txt", "Rent EUR {sum} a year until {month} 2028."),
            ("Keys {office}.txt", "{n} badges are out in {office}; two were never returned."),
        ),
        "Services": (
            ("Cleaning contract.txt", "Twice a week, EUR {sum} a year, notice by {month}."),
            ("Lease printers.txt", "Two printers until {month} 2026, EUR {n} a month."),
            ("Insurance {year}.txt", "Contents up to EUR {sum}; policy BL-{n}."),
        ),
        "Events": (
            ("Summer party {year}.txt", "{n} guests, EUR {sum}."),
            ("Seating plan {year}.png", "Who sits where at the summer party {year}."),
        ),
    },
    "Management": {
        "Board": (
            ("Board minutes {year} {quarter}.txt", "Decided: EUR {sum} for {product}."),
            ("Strategy {year}.md", "Grow {product} by {n} percent."),
        ),
    },
}

SHARED_WITH_ME = {"Sales": "editor", "Product": "viewer", "Finance": "viewer", "Support": "viewer"}
"""Rights of the person at work on whole folders; elsewhere single papers are shared."""

NEXT_VERSION = (
    "\nNote of {day}: figures checked once more.",
    "\nNote of {day}: see the mail of last week, the total changes.",
    "\nNote of {day}: first paragraph is new.",
    "\nDRAFT, not to be passed on.",
)
