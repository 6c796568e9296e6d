"""Names, companies, and matters by product, for the people who write to the help desk.

People, companies and products are invented; domains end in ``.example``.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Matter:
    """Something people write in about, from the first line to how it ends.

    Attributes:
        subject: The line; may name ``product``, ``n``, ``order`` and ``day`` in braces.
        body: What happened.
        more: What the customer says when asked.
        note: What the team tells itself.
        resolution: How it ends.
        tags: What it is filed under.
        press: Weights of low, normal, high and urgent.
    """

    subject: str
    body: str
    more: str
    note: str
    resolution: str
    tags: tuple[str, ...]
    press: tuple[int, int, int, int] = (2, 5, 2, 1)


SUPPORT = (
    ("amira", "Amira Haddad", "first line", 1),
    ("bo", "Bo Lindqvist", "first line", 1),
    ("chidi", "Chidi Okafor", "first line", 1),
    ("dana", "Dana Petrov", "first line", 1),
    ("elif", "Elif Kaya", "billing", 1),
    ("farid", "Farid Nouri", "billing", 1),
    ("greta", "Greta Sommer", "engineering", 1),
    ("hiro", "Hiro Tanabe", "engineering", 1),
    ("ines", "Ines Duarte", "first line", 0),
)

FIRST = (
    "Aaron", "Adele", "Agnes", "Ahmed", "Alba", "André", "Anouk", "Arjun", "Beatriz", "Bram",
    "Carla", "Cedric", "Chloe", "Daniel", "Deepa", "Dmitri", "Edith", "Emeka", "Eva", "Fatima",
    "Felix", "Fiona", "Gabriel", "Grace", "Hana", "Henrik", "Ida", "Imran", "Irene", "Ivan",
    "Jamal", "Jana", "Jonas", "Julia", "Kamil", "Keiko", "Lars", "Leila", "Lucia", "Magnus",
    "Malik", "Maria", "Marta", "Mateo", "Mei", "Milan", "Nadia", "Nils", "Noor", "Olga",
    "Omar", "Paula", "Pedro", "Priya", "Rafael", "Renée", "Rosa", "Samir", "Sara", "Simone",
    "Tariq", "Tessa", "Tomas", "Ursula", "Victor", "Wanda", "Xenia", "Yara", "Yusuf", "Zoe",
)  # fmt: skip

LAST = (
    "Abe", "Aguilar", "Andersen", "Bakker", "Banerjee", "Bergmann", "Bianchi", "Costa", "Craig",
    "Dahl", "Delgado", "Dubois", "Eriksen", "Farouk", "Ferrari", "Fischer", "Garcia", "Gupta",
    "Hansen", "Haugen", "Ibrahim", "Ito", "Jansen", "Kovacs", "Kumar", "Larsen", "Lefèvre",
    "Lindgren", "Lopez", "Mendes", "Meyer", "Mwangi", "Nakamura", "Novak", "O'Brien", "Osei",
    "Park", "Pereira", "Quinn", "Ramos", "Richter", "Rossi", "Sato", "Schröder", "Silva",
    "Singh", "Sokolov", "Tanaka", "Torres", "Van Dam", "Varga", "Vogel", "Walsh", "Weber",
    "Wójcik", "Yilmaz", "Zhang", "Zimmer",
)  # fmt: skip

COMPANIES = (
    ("Alder & Finch Bakery", "alderfinch.example"),
    ("Bluewater Logistics", "bluewater.example"),
    ("Brightside Dental", "brightside-dental.example"),
    ("Cascade Outdoor", "cascade-outdoor.example"),
    ("Copperfield Books", "copperfield-books.example"),
    ("Delta Freight", "deltafreight.example"),
    ("Eastgate Clinic", "eastgateclinic.example"),
    ("Fern Hill School", "fernhill.example"),
    ("Granite Construction Partners", "granitepartners.example"),
    ("Harbour Lane Hotels", "harbourlane.example"),
    ("Ironbridge Engineering", "ironbridge.example"),
    ("Juniper Legal", "juniperlegal.example"),
    ("Kestrel Aviation Parts", "kestrelparts.example"),
    ("Lakeshore Credit Union", "lakeshorecu.example"),
    ("Meridian Travel", "meridiantravel.example"),
    ("Northwind Dairy", "northwinddairy.example"),
    ("Oakline Furniture", "oakline.example"),
    ("Pinecrest Veterinary", "pinecrestvet.example"),
    ("Quarry Street Studio", "quarrystreet.example"),
    ("Redwood Insurance", "redwoodins.example"),
    ("Saltmarsh Fisheries", "saltmarsh.example"),
    ("Tidewater Energy", "tidewater-energy.example"),
    ("Upland Coffee", "uplandcoffee.example"),
    ("Vantage Fitness", "vantagefit.example"),
    ("Willow Creek Nursery", "willowcreek.example"),
    ("Yellowstone Printing", "yellowstoneprint.example"),
)

MATTERS = {
    "Ledgerly": (
        Matter(
            "Invoice {order} was charged twice",
            "Our card was charged twice for invoice {order} on {day}. Please refund one of them.",
            "Yes, both charges are on the statement, with the same reference {order}.",
            "Second charge is a retry after a gateway timeout. Refund is safe.",
            "One of the two charges for {order} was refunded; it takes five working days.",
            ("billing", "refund"),
            (0, 3, 5, 2),
        ),
        Matter(
            "Cannot export the VAT report for last quarter",
            "The export of the VAT report stops at {n} percent and then shows an empty page.",
            "We have tried two browsers. Smaller date ranges work.",
            "Times out above 50,000 postings; the range is cut in half by the workaround.",
            "The export runs in the background now and is sent by e-mail.",
            ("bug", "export"),
        ),
        Matter(
            "Wrong company address on invoices",
            "Since we moved, invoices such as {order} still carry our old address.",
            "The new address is in the company profile already.",
            "Templates keep their own copy of the address.",
            "The address in the invoice template was replaced.",
            ("billing", "profile"),
            (4, 5, 1, 0),
        ),
    ),
    "Parcelhub": (
        Matter(
            "Labels print without a barcode",
            "Since {day} our labels come out without a barcode. {n} parcels are waiting.",
            "It is the thermal printer at the dock; the office printer is fine.",
            "Firmware 4.2 of that printer drops the font. Known.",
            "The labels are sent as images now, which the printer accepts.",
            ("bug", "printing"),
            (0, 2, 5, 4),
        ),
        Matter(
            "Tracking page shows parcels as lost",
            "{n} parcels that were delivered on {day} are shown as lost.",
            "The carrier's own page shows them as delivered.",
            "Carrier changed a status code. Mapping needs a new line.",
            "The carrier's new status is understood, and the parcels are shown as delivered.",
            ("bug", "carrier"),
        ),
        Matter(
            "How do we add a second warehouse?",
            "We are opening a second warehouse and would like to ship from both by next {day}.",
            "Stock is counted apart in the two.",
            "Needs the business plan or better.",
            "A second warehouse was set up together with the customer.",
            ("question", "setup"),
            (5, 5, 0, 0),
        ),
    ),
    "Rosterboard": (
        Matter(
            "Shift swaps are not announced",
            "When two people swap shifts, neither gets a message. {n} shifts went wrong this week.",
            "Messages about new rosters do arrive.",
            "Queue for swaps is stuck since the deployment on {day}.",
            "Messages about swaps are sent again.",
            ("bug", "notifications"),
            (0, 4, 4, 2),
        ),
        Matter(
            "New colleague cannot sign in",
            "A colleague who started on {day} gets 'unknown account' when signing in.",
            "The invitation went to the right address; we have checked it twice.",
            "Invitation had expired after seven days.",
            "A new invitation was sent, and signing in works.",
            ("login", "account"),
        ),
        Matter(
            "Request: roster for {n} people on one page",
            "We would like to print the roster of {n} people on a single page.",
            "A3 would be fine as well.",
            "On the list of wishes, no date.",
            "The wish was added to the list; printing in A3 is possible today.",
            ("feature-request", "printing"),
            (7, 3, 0, 0),
        ),
    ),
    "Vaultdrive": (
        Matter(
            "Folder disappeared after moving",
            "We moved a shared folder with {n} files on {day}, and now nobody can find it.",
            "The folder's owner left the company last month.",
            "It sits in the root of the former owner's drive.",
            "The folder was given to a new owner and is back where it was moved to.",
            ("data", "sharing"),
            (0, 2, 5, 4),
        ),
        Matter(
            "Two-step sign-in asks every time",
            "All of us are asked for a code at every sign-in since {day}.",
            "Clearing cookies did not help.",
            "Their new proxy strips the device cookie.",
            "The proxy's addresses were added to the trusted ones.",
            ("login", "security"),
        ),
        Matter(
            "Storage is full although we deleted files",
            "We deleted {n} GB and still see 'storage full'.",
            "The bin has been emptied, too.",
            "Versions count as well; retention is 90 days on their plan.",
            "Old versions were removed, which gave the space back.",
            ("storage", "question"),
        ),
    ),
}
