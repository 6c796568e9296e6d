"""Read a form in a separate process with limits: its text and its tables."""

import os


def answer(order, folder):
    """Return the paragraphs outside of tables, and the cells of each table."""
    import docx

    path = os.path.join(folder, "file.docx")
    os.rename(os.path.join(folder, "file"), path)
    document = docx.Document(path)
    texts = [_plain(one.text) for one in document.paragraphs]
    tables = [
        [[_plain(cell.text) for cell in row.cells] for row in table.rows]
        for table in document.tables
    ]
    return {"texts": [text for text in texts if text], "tables": tables}


def _plain(text):
    return " ".join(text.split())
