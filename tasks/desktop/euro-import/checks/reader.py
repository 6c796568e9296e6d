"""Read what kind of value the cells of a range hold, in a separate process with limits."""

import os


def answer(order, folder):
    """Return the types of the cells, row by row: d for a date, n for a number, s for text."""
    import openpyxl

    path = os.path.join(folder, "file.xlsx")
    os.rename(os.path.join(folder, "file"), path)
    book = openpyxl.load_workbook(path, keep_links=False)
    sheet = book[book.sheetnames[0]]
    return [cell.data_type for row in sheet[order["at"]] for cell in row]
