"""Writes the workbook with earlier Mondays' figures and the list of recipients."""

_HEAD = ["Monday", "Open", "Pending", "Overdue", "Nobody's", "Change"]
_BEFORE = {
    "Ledgerly": ([9, 3, 7, 4], [8, 3, 7, 4], [9, 2, 6, 4]),
    "Parcelhub": ([6, 6, 9, 6], [6, 8, 10, 7], [6, 7, 11, 7]),
    "Rosterboard": ([8, 3, 8, 6], [8, 4, 8, 6], [8, 4, 7, 6]),
    "Vaultdrive": ([5, 6, 9, 7], [6, 6, 9, 7], [7, 5, 9, 8]),
}
_LIST = ["Product", "To", "Copy", "From"]
_MAIL = (
    "The mail: the form for the open tickets of a product. The dashboard reads these forms in and"
    " stumbles over other mails; it works out the change itself."
)
_LONG_AGO, _LATELY = "2024-01-08", "2026-01-05"
_AMIRA = "amira.haddad@fairlead.example"


def change(context):
    """Write three Mondays for each product, and the lists."""
    book = context.call(
        "sheets_create_workbook", name="Open tickets by Monday", sheets=[*_BEFORE, "Lists"]
    )["id"]
    for product, figures in _BEFORE.items():
        rows = [_HEAD]
        for row, (day, numbers) in enumerate(zip(("09", "16", "23"), figures, strict=True), 2):
            change = f"=B{row}+C{row}-B{row - 1}-C{row - 1}" if row > 2 else None
            rows.append([f"2026-02-{day}", *numbers, change])
        _write(context, book, product, rows)
    _write(context, book, "Lists", _lists(context.params["case"]["product"], context.params["who"]))
    context.db.execute(
        "UPDATE sheets_workbook SET owner = 'amira.haddad@fairlead.example' WHERE id = ?", book
    )


def _lists(product, who):
    """Return the list of recipients; only the entry of this product has changed."""
    others = [name for name in _BEFORE if name != product]
    return [
        _LIST,
        *([name, "mina.vidal@fairlead.example", _AMIRA, _LONG_AGO] for name in others[:2]),
        [product, who["old"], None, _LONG_AGO],
        *([name, "katrin.teixeira@fairlead.example", None, _LONG_AGO] for name in others[2:]),
        [product, who["to"], _AMIRA, _LATELY],
        [_MAIL],
    ]


def _write(context, book, sheet, rows):
    context.call("sheets_write_range", workbook=book, sheet=sheet, start="A1", rows=rows)
