"""The company, its offices and departments, and the firms around it.

People and firms are invented; domains end in ``.example``. Customers are not here: they are
those of the help desk.
"""

from __future__ import annotations

COMPANY = "Fairlead Software"
DOMAIN = "fairlead.example"

OFFICES = {
    "Berlin": "Europe/Berlin",
    "Lisbon": "Europe/Lisbon",
    "Toronto": "America/Toronto",
    "Singapore": "Asia/Singapore",
}

DEPARTMENTS = {
    "Engineering": (14, "Head of engineering", ("Software engineer", "Senior engineer", "Tester")),
    "Product": (6, "Head of product", ("Product manager", "Designer", "User researcher")),
    "Sales": (8, "Head of sales", ("Account manager", "Sales engineer", "Sales assistant")),
    "Marketing": (5, "Head of marketing", ("Content editor", "Event manager", "Web analyst")),
    "Finance": (6, "Head of finance", ("Accountant", "Controller", "Payroll clerk")),
    "People": (4, "Head of people", ("Recruiter", "People partner", "Trainer")),
    "Legal": (2, "General counsel", ("Contract manager",)),
    "IT": (3, "Head of IT", ("System administrator", "Service desk technician")),
}
"""Size, role of the head, and the other roles."""

FIRMS = (
    ("Halyard Counsel", "halyardcounsel.example", "Europe/Berlin", "Lawyer"),
    ("Plover Catering", "plovercatering.example", "Europe/Berlin", "Event sales"),
    ("Stack & Rowe Recruiting", "stackrowe.example", "Europe/London", "Recruiter"),
    ("Nimbus Hosting", "nimbushosting.example", "America/Toronto", "Account manager"),
    ("Gable Property", "gableproperty.example", "Europe/Lisbon", "Building manager"),
    ("Tern Travel Desk", "terntravel.example", "Europe/Berlin", "Travel agent"),
    ("Inkwell Press", "inkwellpress.example", "Europe/London", "Journalist"),
    ("Orrery Audit", "orreryaudit.example", "Asia/Singapore", "Auditor"),
)
"""Suppliers and partners: name, domain, time zone, and what their people do."""

FIRST = (
    "Ada", "Akira", "Amelie", "Anton", "Bela", "Bruno", "Camille", "Carlos", "Clara", "Cora",
    "David", "Denise", "Diego", "Elena", "Elias", "Emil", "Erik", "Esther", "Florian", "Freya",
    "Gita", "Goran", "Hanna", "Hugo", "Ilse", "Ingrid", "Jae", "Joana", "Joel", "Kasia",
    "Katrin", "Kofi", "Lena", "Liam", "Lin", "Luís", "Mara", "Marco", "Mina", "Moritz",
    "Nina", "Noah", "Oskar", "Petra", "Ravi", "Rita", "Robin", "Sofia", "Stefan", "Theo",
)  # fmt: skip

LAST = (
    "Adeyemi", "Almeida", "Arnold", "Baptista", "Becker", "Brandt", "Carvalho", "Chen", "Conti",
    "Desai", "Engel", "Faria", "Fontaine", "Fuchs", "Grant", "Haas", "Hartmann", "Holm",
    "Horvat", "Iyer", "Jensen", "Kaiser", "Keller", "Kim", "König", "Lam", "Lang", "Lindholm",
    "Macedo", "Maier", "Marsh", "Moreau", "Nguyen", "Nowak", "Okoye", "Patel", "Petersen",
    "Pinto", "Rao", "Reyes", "Roth", "Santos", "Schmitt", "Stein", "Tan", "Teixeira", "Thomsen",
    "Vidal", "Wagner", "Wong",
)  # fmt: skip

SPELT_OTHERWISE = (
    ("Becker", "Bäcker"), ("Maier", "Meyer"), ("Schmitt", "Schmidt"), ("Petersen", "Pedersen"),
    ("Jensen", "Jansen"), ("Nowak", "Novak"), ("Lang", "Lange"), ("Stein", "Steen"),
    ("Kim", "Kimm"), ("Chen", "Cheng"), ("Tan", "Tang"), ("Wong", "Wang"), ("Rao", "Raos"),
)  # fmt: skip
"""Family names that are easily confused."""
