"""Read pictures, a flyer and its PDF in a separate process with limits."""

import io
import os

MOST_PIXELS = 4_000_000
MOST_PICTURES = 20
# A library hands pictures with transparency out of a PDF as JPEG 2000.
KINDS = ("PNG", "JPEG", "BMP", "WEBP", "TIFF", "GIF", "JPEG2000")


def answer(order, folder):
    """Return what a file holds: a picture, the parts of a document, or the pages of a PDF."""
    with open(os.path.join(folder, "gold"), "rb") as file:
        gold = _picture(file.read())
    path = os.path.join(folder, "file")
    if order["what"] == "picture":
        with open(path, "rb") as file:
            return _compared(file.read(), gold)
    return (_document if order["what"] == "document" else _pages)(path, gold)


def _document(path, gold):
    """Return the texts, and the pictures with the number of texts that come before each."""
    import docx
    from docx.oxml.ns import qn

    os.rename(path, path + ".docx")
    document = docx.Document(path + ".docx")
    texts, pictures = [], []
    for paragraph in document.element.body.iter(qn("w:p")):
        text = " ".join("".join(_told(paragraph, qn)).split())
        for drawing in _shown(paragraph, qn("w:drawing")):
            for blip in drawing.iter(qn("a:blip")):
                data = document.part.related_parts[blip.get(qn("r:embed"))].blob
                extent = next(drawing.iter(qn("wp:extent")))
                cropped = [
                    value
                    for one in drawing.iter(qn("a:srcRect"))
                    for value in one.attrib.values()
                    if value != "0"
                ]
                pictures.append(
                    {
                        **_compared(data, gold),
                        "before": len(texts),
                        "has_text": bool(text),
                        "shown": [int(extent.get("cx")), int(extent.get("cy"))],
                        "cropped": bool(cropped),
                        "alone": _is_alone(drawing, qn),
                        "inline": next(drawing.iter(qn("wp:inline")), None) is not None,
                    }
                )
                if len(pictures) > MOST_PICTURES:
                    raise ValueError(f"more than {MOST_PICTURES} pictures")
        if text:
            texts.append(text)
    return {"texts": texts, "pictures": pictures}


def _shown(paragraph, name):
    """Yield elements that are shown; a second version for old programs is left out."""
    for one in paragraph.iter(name):
        if not any(above.tag.endswith("}Fallback") for above in one.iterancestors()):
            yield one


def _is_alone(drawing, qn):
    """Return whether a picture is in a line of text, or has text above and below it only."""
    kinds = ("wp:inline", "wp:wrapTopAndBottom")
    return any(next(drawing.iter(qn(kind)), None) is not None for kind in kinds)


def _told(paragraph, qn):
    for one in paragraph.iter(qn("w:t"), qn("w:tab"), qn("w:br")):
        yield one.text or "" if one.tag == qn("w:t") else " "


def _pages(path, gold):
    import pypdf

    document = pypdf.PdfReader(path, strict=False)
    if len(document.pages) > 20:
        raise ValueError("more than 20 pages")
    found = []
    for page in document.pages:
        pictures = [_compared(one.data, gold) for one in list(page.images)[:MOST_PICTURES]]
        found.append({"text": page.extract_text(), "pictures": pictures})
    return found


def _compared(data, gold):
    """Return format and size of a picture, and the mean difference of its pixels from the gold."""
    from PIL import Image, ImageChops, ImageStat

    made = _picture(data)
    told = {"format": Image.open(io.BytesIO(data), formats=KINDS).format, "size": list(made.size)}
    even = made.resize(gold.size, Image.Resampling.BILINEAR)
    told["off"] = max(ImageStat.Stat(ImageChops.difference(even, gold)).mean)
    return told


def _picture(data):
    from PIL import Image

    image = Image.open(io.BytesIO(data), formats=KINDS)
    if image.width * image.height > MOST_PIXELS:
        raise ValueError(f"{image.width} x {image.height} pixels are too many")
    if image.mode in ("RGBA", "LA", "P"):
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image.convert("RGBA"))
    return image.convert("RGB")
