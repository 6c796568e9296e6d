"""Writes contracts and amendments of seven firms."""

SIGNED = "Signed by both sides on {}."

PAPERS = (
    # Alder & Finch Bakery: the amendment is a draft.
    (104, "Parcelhub, 21 seats, until 1 July 2026.", SIGNED.format("12 May 2025")),
    (127, "Parcelhub, 32 seats from 1 April 2026.", "DRAFT, not signed."),
    # Upland Coffee: more seats since December.
    (124, "Vaultdrive, 51 seats, until 1 July 2026.", SIGNED.format("20 May 2025")),
    (148, "Vaultdrive, 64 seats from 1 December 2025.", SIGNED.format("14 November 2025")),
    # Yellowstone Printing: and a copy that was only talked about.
    (126, "Parcelhub, 69 seats, until 7 July 2026.", SIGNED.format("2 June 2025")),
    (151, "Parcelhub, 72 seats from 1 October 2025.", SIGNED.format("18 September 2025")),
    (375, "Parcelhub, 96 seats from 1 October 2025.", "For the negotiations. Not signed."),
    # Brightside Dental: two digits changed places; the amendment is for another product.
    (105, "Vaultdrive, 47 seats, until 24 July 2026.", SIGNED.format("1 July 2025")),
    (129, "Rosterboard, 95 seats from 1 November 2025.", SIGNED.format("10 October 2025")),
    # Kestrel Aviation Parts: the contract is younger than the amendment.
    (139, "Vaultdrive, 80 seats from 1 July 2025.", SIGNED.format("10 June 2025")),
    (115, "Vaultdrive, 96 seats, until 16 August 2026. Replaces all earlier agreements.",
     SIGNED.format("1 December 2025")),
    # Vantage Fitness: the draft of the next contract lies over the one that holds.
    (125, "Ledgerly, 67 seats, until 18 August 2026.", SIGNED.format("11 August 2025")),
    (125, "Ledgerly, 90 seats, until 18 August 2027.", "DRAFT of the next contract, not signed."),
    (149, "Ledgerly, 13 seats from 1 April 2026.", "DRAFT, not signed."),
    # Meridian Travel: the customer has not signed.
    (117, "Vaultdrive, 103 seats, until 23 August 2026.", SIGNED.format("15 August 2025")),
    (141, "Vaultdrive, 54 seats from 1 March 2026.",
     "Signed by Fairlead Software on 20 February 2026; the customer's signature is missing."),
)  # fmt: skip


def change(context):
    """Save the documents, one version after the other, as their owners."""
    for day, (file, what, standing) in enumerate(PAPERS, 3):
        saved = context.call("files_write", file=file, content=f"{what}\n\n{standing}\n")
        when = f"2026-02-{day:02}T15:{2 * day + 7:02}:00Z"
        context.db.execute(
            "UPDATE files_version SET saved_at = ?, author = ? WHERE item_id = ? AND number = ?",
            when,
            saved["owner"],
            file,
            saved["version"],
        )
        context.db.execute("UPDATE files_item SET updated_at = ? WHERE id = ?", when, file)
