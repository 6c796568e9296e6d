"""A deck of nine slides about a quarter; two have names that begin alike."""

from documents import HOME, finish
from slides import save_slides

DECK = (
    {"title": "The first quarter", "subtitle": "Fairlead Software, Berlin, April 2026"},
    {
        "title": "What customers say",
        "points": [
            "212 answers to the survey, 38 more than last year",
            "Most praised: the hotline answers within two minutes",
            "Most missed: an app for the phone",
        ],
        "notes": "Read out the mail of the Bellamy nursery.",
    },
    {
        "title": "Sales by country",
        "rows": [
            ["Country", "Q4 2025", "Q1 2026"],
            ["Germany", "418,000", "442,500"],
            ["Austria", "96,200", "91,800"],
            ["Denmark", "51,700", "64,300"],
        ],
    },
    {
        "title": "Costs",
        "points": [
            "Rent and energy: 61,400 EUR",
            "Salaries: 318,900 EUR",
            "Licences and servers: 44,250 EUR",
        ],
    },
    {
        "title": "Costs, draft",
        "points": [
            "Rent and energy: about 60,000 EUR",
            "Salaries: figures from HR are missing",
            "Licences and servers: ask Tomas",
        ],
    },
    {
        "title": "Staff changes",
        "points": [
            "Gita Nguyen leads the support team from May",
            "Two trainees begin in August",
        ],
        "notes": "The contracts are signed, the team knows.",
    },
    {
        "title": "Open disputes",
        "points": [
            "Castellan Catering: two invoices of February",
            "Lift of the back building: the landlord pays half",
        ],
    },
    {
        "title": "New products",
        "points": [
            "Fairlead Desk 4 comes out on 2 June",
            "The app for the phone is tested from September",
        ],
    },
    {
        "title": "Plans for summer",
        "points": [
            "Stand at the fair in Leipzig",
            "Move to Harbour Street",
            "Summer party on 3 July",
        ],
    },
)
save_slides(HOME / "Documents" / "quarter.pptx", "The first quarter", DECK)
finish("libreoffice --impress /home/user/Documents/quarter.pptx")
