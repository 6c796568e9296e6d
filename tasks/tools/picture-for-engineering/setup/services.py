"""Saves pictures that customers sent, and delivers the mail of a customer who asks."""

import hashlib
import struct
import zlib

_FOLDER, _FIRST = 420, 421
_WHEN = "2026-02-27T16:00:00Z"
_PICTURES = (
    ("IMG_0412.png", "Kestrel, Olga Hansen: the list after the move, the shared folder is gone."),
    ("IMG_0413.png", "Kestrel, Olga Hansen: the bar at the top says 99 % full, from November."),
    ("IMG_2077.png", "Quarry Street, Cedric Jansen: where the folder was before it was moved."),
    ("IMG_2078.png", "Quarry Street, Aaron Garcia: a label from December."),
    ("Screenshot 7.png", "Yellowstone, Chloe Meyer: the menu in which a warehouse is added."),
    ("Screenshot 8.png", "Yellowstone, Chloe Meyer: a label as it leaves the printer, bare."),
    ("photo-1.png", "Bluewater, Felix Meyer: asked for the second step again."),
    ("photo-2.png", "Bluewater, Grace Yilmaz: labels of this week, none of them with a barcode."),
    ("unnamed.png", "Lakeshore, Sara Ito: storage at 100 %, the bin empty beside it."),
    ("unnamed (1).png", "Lakeshore, Edith Mwangi: the folder before it was moved in January."),
)


def change(context):
    """Save the pictures and write the mail."""
    _item(context, _FOLDER, "folder", "Screenshots", 254)
    for number, (name, text) in enumerate(_PICTURES):
        data = _png(number)
        picture = "image:" + hashlib.sha256(data).hexdigest()[:12]
        context.db.insert("files_picture", name=picture, mime="image/png", data=data)
        item = _FIRST + number
        _item(context, item, "file", name, _FOLDER)
        context.db.insert(
            "files_version",
            item_id=item,
            number=1,
            content=text,
            picture=picture,
            author="bo.lindqvist@fairlead.example",
            saved_at=_WHEN,
        )
    case = context.params["case"]
    context.db.insert(
        "mail_message",
        id=380,
        thread=242,
        folder_id=1,
        sender=case["email"],
        subject="Has my picture arrived?",
        body=f"I have sent you a picture of what we see. Is anybody on it?\n\n{case['who']}",
        sent_at="2026-03-02T08:20:00Z",
        unread=1,
        updated_at="2026-03-02T08:20:00Z",
    )
    context.db.insert(
        "mail_recipient",
        message_id=380,
        kind="to",
        position=0,
        email="office@fairlead.example",
    )


def _item(context, number, kind, name, folder):
    context.db.insert(
        "files_item",
        id=number,
        kind=kind,
        name=name,
        folder_id=folder,
        owner="bo.lindqvist@fairlead.example",
        created_at=_WHEN,
        updated_at=_WHEN,
    )


def _png(shade):
    """Return a picture of 8 by 8 pixels in one grey, without compression."""
    raw = (b"\0" + bytes([20 * shade + 10]) * 8) * 8
    stored = b"\x78\x01\x01" + struct.pack("<HH", len(raw), len(raw) ^ 0xFFFF) + raw
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 0, 0, 0, 0)),
        (b"IDAT", stored + struct.pack(">I", zlib.adler32(raw))),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
