"""Addresses from two lists that were pasted together."""

from documents import HOME, finish, new_workbook, save_workbook, table

ROWS = (
    ("Quist", "Ada", "ada.quist@fairlead.example", "Berlin"),
    ("Lind", "Bo", "bo.lind@fairlead.example", "Muenchen"),
    ("Nguyen", "Gita", "gita.nguyen@fairlead.example", "Lisbon"),
    ("Breyer", "Tomas", "tomas.breyer@fairlead.example", "Potsdam"),
    ("Lind", "Bo", "bo.lind@fairlead.example", "Muenchen"),
    ("Adler", "Miriam", "miriam.adler@fairlead.example", "Berlin"),
    ("Lindqvist", "Boris", "boris.lindqvist@fairlead.example", "Muenchen"),
    ("Osei", "Kofi", "kofi.osei@fairlead.example", "Toronto"),
    ("Quist", "Ada", "ada.quist@fairlead.example", "Berlin"),
    ("Varga", "Ilona", "ilona.varga@fairlead.example", "Muenchen"),
    ("Quist", "Alma", "alma.quist@fairlead.example", "Berlin"),
    ("Dietrich", "Jan", "jan.dietrich@fairlead.example", "Potsdam"),
    ("Osei", "Kofi", "kofi.osei@fairlead.example", "Toronto"),
    ("Campos", "Rita", "rita.campos@fairlead.example", "Lisbon"),
)
book = new_workbook("Contacts", "Rooms")
table(book["Contacts"], 1, ("Name", "First name", "Mail", "Town"), ROWS, (), (16, 14, 34, 14))
rooms = (("Isar", "Muenchen", 8), ("Spree", "Berlin", 12))
table(book["Rooms"], 1, ("Room", "Town", "Seats"), rooms, (), (14, 14, 8))
save_workbook(book, HOME / "Documents" / "contacts.xlsx")
finish("libreoffice --calc /home/user/Documents/contacts.xlsx")
