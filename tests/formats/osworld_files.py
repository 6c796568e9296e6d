"""Files that the tests of OSWorld's metrics compare, written here."""

import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from PIL import Image


@dataclass(frozen=True)
class File:
    """A file that lies in a folder of its own, maybe beside others."""

    name: str
    data: bytes
    beside: dict[str, bytes] = field(default_factory=dict)

    def lay(self, folder: Path) -> Path:
        folder.mkdir(parents=True)
        for name, data in {self.name: self.data, **self.beside}.items():
            (folder / name).write_bytes(data)
        return folder / self.name


def text(content: str, name: str = "file.txt") -> File:
    return File(name, content.encode())


def as_json(content: object) -> File:
    return text(json.dumps(content), "file.json")


def book(sheets, change=None, name="book.xlsx", beside=None) -> File:
    """A workbook: rows by sheet; `change(workbook)` does the rest."""
    from openpyxl import Workbook

    made = Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    if change:
        change(made)
    out = io.BytesIO()
    made.save(out)
    return File(name, out.getvalue(), beside or {})


def document(*paragraphs: str, change=None) -> File:
    from docx import Document

    made = Document()
    for one in paragraphs:
        made.add_paragraph(one)
    if change:
        change(made)
    out = io.BytesIO()
    made.save(out)
    return File("file.docx", out.getvalue())


def slides(*titles: str, change=None) -> File:
    """A presentation: slides with a title and a text; `change(presentation)` does the rest."""
    from pptx import Presentation

    made = Presentation()
    for title in titles:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = f"About {title}"
    if change:
        change(made)
    out = io.BytesIO()
    made.save(out)
    return File("file.pptx", out.getvalue())


def picture(pixels=None, size=(40, 30), mode="RGB", name="file.png", palette=False) -> File:
    """A picture: a colour, an array, or a fixed texture."""
    if pixels is None:
        pixels = texture(size)
    image = (
        Image.fromarray(pixels) if isinstance(pixels, np.ndarray) else Image.new(mode, size, pixels)
    )
    if palette:
        image = image.quantize(256)
    out = io.BytesIO()
    image.save(out, "PNG")
    return File(name, out.getvalue())


def texture(size=(40, 30)) -> np.ndarray:
    x, y = np.meshgrid(np.arange(size[0]), np.arange(size[1]))
    channels = [(x * 5) % 200 + 20, (y * 7) % 180 + 30, ((x + 2 * y) * 3) % 190 + 25]
    return np.stack(channels, axis=2).astype(np.uint8)


def pdf(*pages: str) -> File:
    """A PDF file with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * at} 0 R" for at in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for at, line in enumerate(pages):
        stream = f"BT /F1 12 Tf 40 700 Td ({line}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * at} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{at:010} 00000 n \n".encode() for at in places)
    out += f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF".encode()
    return File("file.pdf", out)


def archive(files: dict[str, bytes], name: str = "file.zip") -> File:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for inside, data in files.items():
            made.writestr(inside, data)
    return File(name, out.getvalue())
