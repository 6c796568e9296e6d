"""A letter as it was saved, and what LibreOffice has rescued of a later version of it."""

import random
import zipfile
from xml.sax.saxutils import escape

from documents import HOME, finish, gold, new_document, parameters, save_document

LETTER = HOME / "Documents" / "claim.docx"
PROFILE = HOME / ".config/libreoffice/4/user"
RESCUED = PROFILE / "backup" / "claim.docx_0.odt"
NAMES = "urn:oasis:names:tc:opendocument:xmlns"
STAMP = (2026, 1, 5, 9, 0, 0)

draw = random.Random(parameters()["seed"])
carpet = draw.randrange(22_000, 58_000) * 5
shelves, copier, painter = (draw.randrange(2_400, 19_600) * 5 for _ in range(3))


def euros(cents):
    return f"{cents / 100:,.2f} EUR"


HEAD = [
    "Fairlead Software, Harbour Street 12, Berlin",
    "Nordlicht Insurance, claims department",
    "Berlin, 16 March 2026",
    "Water damage of 13 March, policy 44-20871",
    "Dear Ms Hartmann,",
]
FOOT = ["Kind regards", "Miriam Adler"]
MORNING = [
    *HEAD,
    "on Friday a pipe burst in the kitchen of our second floor.",
    f"Carpet, 40 square metres: {euros(carpet + 9_000)}",
    *FOOT,
]
LAST = [
    *HEAD,
    "on Friday, 13 March, a pipe burst in the kitchen of our second floor. "
    "The water stood in three rooms until the caretaker shut the main valve at half past six.",
    "According to the quotes that we enclose, these are the damages:",
    f"Carpet, 40 square metres: {euros(carpet)}",
    f"Four shelves: {euros(shelves)}",
    f"Repair of the copier: {euros(copier)}",
    f"Painter, two rooms: {euros(painter)}",
    "Total:",
    "Please tell us by the end of the month whether your expert wants to see the rooms.",
    *FOOT,
]
total = euros(carpet + shelves + copier + painter)
gold("letter.json", [f"Total: {total}" if text == "Total:" else text for text in LAST])

document = new_document()
for text in MORNING:
    document.add_paragraph(text)
save_document(document, LETTER)

lines = "".join(f'<text:p text:style-name="Standard">{escape(text)}</text:p>' for text in LAST)
kind = "application/vnd.oasis.opendocument.text"
spaces = (
    f'xmlns:office="{NAMES}:office:1.0" xmlns:text="{NAMES}:text:1.0" '
    f'xmlns:style="{NAMES}:style:1.0" xmlns:fo="{NAMES}:xsl-fo-compatible:1.0"'
)
parts = {
    "mimetype": kind,
    "META-INF/manifest.xml": '<?xml version="1.0" encoding="UTF-8"?>'
    f'<manifest:manifest xmlns:manifest="{NAMES}:manifest:1.0" manifest:version="1.2">'
    f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
    '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
    '<manifest:file-entry manifest:full-path="styles.xml" manifest:media-type="text/xml"/>'
    "</manifest:manifest>",
    "content.xml": f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} '
    f'office:version="1.2"><office:body><office:text>{lines}</office:text></office:body>'
    "</office:document-content>",
    "styles.xml": f'<?xml version="1.0" encoding="UTF-8"?><office:document-styles {spaces} '
    'office:version="1.2"><office:styles><style:style style:name="Standard" '
    'style:family="paragraph"><style:paragraph-properties fo:margin-bottom="0.35cm"/>'
    '<style:text-properties fo:font-family="Liberation Sans" fo:font-size="11pt"/>'
    "</style:style></office:styles></office:document-styles>",
}
RESCUED.parent.mkdir(parents=True, exist_ok=True)
with zipfile.ZipFile(RESCUED, "w") as archive:
    for name, text in parts.items():
        archive.writestr(zipfile.ZipInfo(name, STAMP), text)

item = "".join(
    f'<prop oor:name="{name}" oor:op="fuse"><value>{value}</value></prop>'
    for name, value in (
        ("OriginalURL", f"file://{LETTER}"),
        ("TempURL", f"file://{RESCUED}"),
        ("FactoryURL", "private:factory/swriter"),
        ("TemplateURL", ""),
        ("Title", LETTER.name),
        ("DocumentState", 1),
        ("Filter", "MS Word 2007 XML"),
        ("Module", "com.sun.star.text.TextDocument"),
    )
)
told = (
    '<item oor:path="/org.openoffice.Office.Recovery/RecoveryList">'
    f'<node oor:name="recovery_item_1" oor:op="replace">{item}</node></item>\n'
    '<item oor:path="/org.openoffice.Office.Recovery/RecoveryInfo">'
    '<prop oor:name="Crashed" oor:op="fuse"><value>true</value></prop></item>\n'
)
settings = PROFILE / "registrymodifications.xcu"
held = settings.read_text()
held = held.replace(
    '<prop oor:name="Enabled" oor:op="fuse"><value>false</value></prop></item>\n'
    '<item oor:path="/org.openoffice.Setup',
    '<prop oor:name="Enabled" oor:op="fuse"><value>true</value></prop></item>\n'
    '<item oor:path="/org.openoffice.Setup',
)
settings.write_text(held.replace("</oor:items>", f"{told}</oor:items>"))
finish("libreoffice --writer")
