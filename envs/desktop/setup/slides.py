"""Presentations (pptx) for the setups of desktop tasks; equal arguments give equal bytes.

The guest has no library that writes them. The parts are those of ECMA-376 that LibreOffice,
PowerPoint and python-pptx need: a theme, a master with two layouts, and the slides.
"""

import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

_STAMP = (2026, 1, 5, 9, 0, 0)
_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
_SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SPACES = f'xmlns:a="{_DRAWING}" xmlns:r="{_OFFICE}" xmlns:p="{_SLIDES}"'
_KIND = "application/vnd.openxmlformats-officedocument.presentationml"
_WIDTH, _HEIGHT = 12_192_000, 6_858_000
_GROUP = (
    '<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr>'
    '<p:grpSpPr><a:xfrm><a:off x="0" y="0"/><a:ext cx="0" cy="0"/>'
    '<a:chOff x="0" y="0"/><a:chExt cx="0" cy="0"/></a:xfrm></p:grpSpPr>'
)
_MAP = (
    '<p:clrMap bg1="lt1" tx1="dk1" bg2="lt2" tx2="dk2" accent1="accent1" accent2="accent2" '
    'accent3="accent3" accent4="accent4" accent5="accent5" accent6="accent6" hlink="hlink" '
    'folHlink="folHlink"/>'
)
_COLOURS = {
    "dk1": "1F2933",
    "lt1": "FFFFFF",
    "dk2": "3B5B7A",
    "lt2": "E4E9EE",
    "accent1": "3B5B7A",
    "accent2": "C8553D",
    "accent3": "588157",
    "accent4": "E0A458",
    "accent5": "6D597A",
    "accent6": "2A9D8F",
    "hlink": "2A6F97",
    "folHlink": "6D597A",
}
_PLACES = {
    "title": (720_000, 430_000, 10_752_000, 1_100_000),
    "body": (720_000, 1_750_000, 10_752_000, 4_500_000),
    "ctrTitle": (1_200_000, 2_000_000, 9_792_000, 1_400_000),
    "subTitle": (1_200_000, 3_600_000, 9_792_000, 1_200_000),
    "table": (720_000, 1_750_000, 10_752_000, 0),
}


def save_slides(path, title, slides):
    """Save a presentation.

    Args:
        path: Where it is saved.
        title: Title of the document.
        slides: Of each a table of `title` and optionally `subtitle` (makes it a title slide),
            `points` (paragraphs of the body), `rows` (a table, the header first), `notes` (text of
            the speaker) and `hidden`.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = _package(title, slides)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(zipfile.ZipInfo(name, _STAMP), _HEAD + text, zipfile.ZIP_DEFLATED)


def _package(title, slides):
    """Return the parts of the file by name."""
    count = len(slides)
    noted = [number for number, slide in enumerate(slides, 1) if slide.get("notes")]
    kinds = {
        "ppt/presentation.xml": f"{_KIND}.presentation.main+xml",
        "ppt/slideMasters/slideMaster1.xml": f"{_KIND}.slideMaster+xml",
        "ppt/slideLayouts/slideLayout1.xml": f"{_KIND}.slideLayout+xml",
        "ppt/slideLayouts/slideLayout2.xml": f"{_KIND}.slideLayout+xml",
        "ppt/theme/theme1.xml": "application/vnd.openxmlformats-officedocument.theme+xml",
        "docProps/core.xml": "application/vnd.openxmlformats-package.core-properties+xml",
    }
    kinds |= {f"ppt/slides/slide{n + 1}.xml": f"{_KIND}.slide+xml" for n in range(count)}
    if noted:
        kinds["ppt/notesMasters/notesMaster1.xml"] = f"{_KIND}.notesMaster+xml"
        kinds["ppt/theme/theme2.xml"] = kinds["ppt/theme/theme1.xml"]
    kinds |= {f"ppt/notesSlides/notesSlide{n}.xml": f"{_KIND}.notesSlide+xml" for n in noted}
    overrides = "".join(
        f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in kinds.items()
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "_rels/.rels": _links(
            (f"{_OFFICE}/officeDocument", "ppt/presentation.xml"),
            (f"{_PACKAGE}/relationships/metadata/core-properties", "docProps/core.xml"),
        ),
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/'
        '2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{escape(title)}</dc:title><dc:creator>Office</dc:creator></cp:coreProperties>",
        "ppt/theme/theme1.xml": _theme(),
        "ppt/slideMasters/slideMaster1.xml": _master(),
        "ppt/slideMasters/_rels/slideMaster1.xml.rels": _links(
            ("slideLayout", "../slideLayouts/slideLayout1.xml"),
            ("slideLayout", "../slideLayouts/slideLayout2.xml"),
            ("theme", "../theme/theme1.xml"),
        ),
    }
    for number, (kind, name, holds) in enumerate(
        (("title", "Title Slide", ("ctrTitle", "subTitle")), ("obj", "Content", ("title", "body"))),
        1,
    ):
        shapes = "".join(_shape(n, what, [what], at=True) for n, what in enumerate(holds, 2))
        parts[f"ppt/slideLayouts/slideLayout{number}.xml"] = (
            f'<p:sldLayout {_SPACES} type="{kind}" preserve="1"><p:cSld name="{name}"><p:spTree>'
            f"{_GROUP}{shapes}</p:spTree></p:cSld>"
            "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sldLayout>"
        )
        parts[f"ppt/slideLayouts/_rels/slideLayout{number}.xml.rels"] = _links(
            ("slideMaster", "../slideMasters/slideMaster1.xml")
        )
    for number, slide in enumerate(slides, 1):
        layout = 1 if "subtitle" in slide else 2
        links = [("slideLayout", f"../slideLayouts/slideLayout{layout}.xml")]
        if number in noted:
            links.append(("notesSlide", f"../notesSlides/notesSlide{number}.xml"))
            parts[f"ppt/notesSlides/notesSlide{number}.xml"] = _notes(slide["notes"])
            parts[f"ppt/notesSlides/_rels/notesSlide{number}.xml.rels"] = _links(
                ("notesMaster", "../notesMasters/notesMaster1.xml"),
                ("slide", f"../slides/slide{number}.xml"),
            )
        parts[f"ppt/slides/slide{number}.xml"] = _slide(slide)
        parts[f"ppt/slides/_rels/slide{number}.xml.rels"] = _links(*links)
    links = [("slideMaster", "slideMasters/slideMaster1.xml"), ("theme", "theme/theme1.xml")]
    links += [("slide", f"slides/slide{n + 1}.xml") for n in range(count)]
    notes = ""
    if noted:
        links.append(("notesMaster", "notesMasters/notesMaster1.xml"))
        notes = (
            f'<p:notesMasterIdLst><p:notesMasterId r:id="rId{len(links)}"/></p:notesMasterIdLst>'
        )
        parts["ppt/notesMasters/notesMaster1.xml"] = (
            f"<p:notesMaster {_SPACES}><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr "
            'val="bg1"/></a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>'
            f"{_GROUP}{_note_shapes('')}</p:spTree></p:cSld>{_MAP}</p:notesMaster>"
        )
        parts["ppt/notesMasters/_rels/notesMaster1.xml.rels"] = _links(
            ("theme", "../theme/theme2.xml")
        )
        parts["ppt/theme/theme2.xml"] = _theme()
    ids = "".join(f'<p:sldId id="{256 + n}" r:id="rId{3 + n}"/>' for n in range(count))
    parts["ppt/presentation.xml"] = (
        f'<p:presentation {_SPACES}><p:sldMasterIdLst><p:sldMasterId id="2147483648" r:id="rId1"/>'
        f"</p:sldMasterIdLst>{notes}<p:sldIdLst>{ids}</p:sldIdLst>"
        f'<p:sldSz cx="{_WIDTH}" cy="{_HEIGHT}"/><p:notesSz cx="6858000" cy="9144000"/>'
        "</p:presentation>"
    )
    parts["ppt/_rels/presentation.xml.rels"] = _links(*links)
    return parts


def _links(*links):
    made = "".join(
        f'<Relationship Id="rId{n}" Type="{kind if ":" in kind else f"{_OFFICE}/{kind}"}" '
        f'Target="{target}"/>'
        for n, (kind, target) in enumerate(links, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{made}</Relationships>'


def _slide(slide):
    """Return the XML of one slide."""
    if "subtitle" in slide:
        shapes = _shape(2, "ctrTitle", [slide["title"]]) + _shape(
            3, "subTitle", [slide["subtitle"]]
        )
    else:
        shapes = _shape(2, "title", [slide["title"]])
        if "points" in slide:
            shapes += _shape(3, "body", slide["points"])
        if "rows" in slide:
            shapes += _table(4, slide["rows"])
    hidden = ' show="0"' if slide.get("hidden") else ""
    return (
        f"<p:sld {_SPACES}{hidden}><p:cSld><p:spTree>{_GROUP}{shapes}</p:spTree></p:cSld>"
        "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:sld>"
    )


def _shape(number, what, texts, *, at=False):
    """Return a placeholder with its paragraphs.

    Args:
        number: Its id on the slide.
        what: Its type; the body has none, but an index.
        texts: Its paragraphs.
        at: Whether it has a place of its own, as in a layout.
    """
    kind = 'idx="1"' if what == "body" and not at else f'type="{what}"'
    kind += ' idx="1"' if what == "subTitle" or (what == "body" and at) else ""
    name = {"body": "Content", "subTitle": "Subtitle"}.get(what, "Title")
    place = ""
    if at:
        x, y, width, height = _PLACES[what]
        place = f'<a:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{height}"/></a:xfrm>'
    lines = "".join(
        f'<a:p><a:r><a:rPr lang="en-GB"/><a:t>{escape(t)}</a:t></a:r></a:p>' for t in texts
    )
    style = "<a:lstStyle/>"
    if at and what == "subTitle":
        plain = '<a:lvl1pPr marL="0" indent="0"><a:buNone/><a:defRPr sz="2400"/></a:lvl1pPr>'
        style = f"<a:lstStyle>{plain}</a:lstStyle>"
    return (
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="{name} {number}"/><p:cNvSpPr>'
        f'<a:spLocks noGrp="1"/></p:cNvSpPr><p:nvPr><p:ph {kind}/></p:nvPr></p:nvSpPr>'
        f"<p:spPr>{place}</p:spPr><p:txBody><a:bodyPr/>{style}{lines}</p:txBody></p:sp>"
    )


def _table(number, rows):
    """Return a table as a shape."""
    x, y, width, _ = _PLACES["table"]
    high, wide = 500_000, width // len(rows[0])
    grid = f'<a:gridCol w="{wide}"/>' * len(rows[0])

    def cell(text, first):
        bold, fill, colour = (' b="1"', "dk2", "lt1") if first else ("", "lt2", "dk1")
        return (
            "<a:tc><a:txBody><a:bodyPr/><a:lstStyle/>"
            f'<a:p><a:r><a:rPr lang="en-GB" sz="1800"{bold}>'
            f'<a:solidFill><a:schemeClr val="{colour}"/></a:solidFill></a:rPr>'
            f"<a:t>{escape(str(text))}</a:t></a:r></a:p></a:txBody><a:tcPr><a:solidFill>"
            f'<a:schemeClr val="{fill}"/></a:solidFill></a:tcPr></a:tc>'
        )

    lines = "".join(
        f'<a:tr h="{high}">{"".join(cell(text, place == 0) for text in row)}</a:tr>'
        for place, row in enumerate(rows)
    )
    return (
        f'<p:graphicFrame><p:nvGraphicFramePr><p:cNvPr id="{number}" name="Table {number}"/>'
        "<p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr>"
        f'<p:xfrm><a:off x="{x}" y="{y}"/><a:ext cx="{width}" cy="{high * len(rows)}"/></p:xfrm>'
        f'<a:graphic><a:graphicData uri="{_DRAWING.replace("main", "table")}"><a:tbl>'
        f'<a:tblPr firstRow="1"/><a:tblGrid>{grid}</a:tblGrid>{lines}</a:tbl></a:graphicData>'
        "</a:graphic></p:graphicFrame>"
    )


def _notes(text):
    return (
        f"<p:notes {_SPACES}><p:cSld><p:spTree>{_GROUP}{_note_shapes(text)}</p:spTree></p:cSld>"
        "<p:clrMapOvr><a:masterClrMapping/></p:clrMapOvr></p:notes>"
    )


def _note_shapes(text):
    return (
        '<p:sp><p:nvSpPr><p:cNvPr id="2" name="Slide"/><p:cNvSpPr><a:spLocks noGrp="1" noRot="1" '
        'noChangeAspect="1"/></p:cNvSpPr><p:nvPr><p:ph type="sldImg"/></p:nvPr></p:nvSpPr><p:spPr>'
        '<a:xfrm><a:off x="685800" y="1143000"/><a:ext cx="5486400" cy="3086100"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr></p:sp>'
        '<p:sp><p:nvSpPr><p:cNvPr id="3" name="Notes"/>'
        '<p:cNvSpPr><a:spLocks noGrp="1"/></p:cNvSpPr>'
        '<p:nvPr><p:ph type="body" idx="1"/></p:nvPr></p:nvSpPr><p:spPr><a:xfrm>'
        '<a:off x="685800" y="4400550"/><a:ext cx="5486400" cy="3600450"/></a:xfrm>'
        '<a:prstGeom prst="rect"><a:avLst/></a:prstGeom></p:spPr><p:txBody><a:bodyPr/><a:lstStyle/>'
        f'<a:p><a:r><a:rPr lang="en-GB"/><a:t>{escape(text)}</a:t></a:r></a:p></p:txBody></p:sp>'
    )


def _master():
    shapes = _shape(2, "title", ["Title"], at=True) + _shape(3, "body", ["Text"], at=True)
    fill = '<a:solidFill><a:schemeClr val="{}"/></a:solidFill><a:latin typeface="+mn-lt"/>'
    levels = "".join(
        f'<a:lvl{n}pPr marL="{342_900 * n}" indent="-300000">'
        '<a:spcBef><a:spcPts val="800"/></a:spcBef>'
        '<a:buFont typeface="Arial"/><a:buChar char="•"/>'
        f'<a:defRPr sz="{size}">{fill.format("tx1")}</a:defRPr></a:lvl{n}pPr>'
        for n, size in enumerate((2800, 2400, 2000), 1)
    )
    layouts = "".join(f'<p:sldLayoutId id="{2147483648 + n}" r:id="rId{n}"/>' for n in (1, 2))
    return (
        f'<p:sldMaster {_SPACES}><p:cSld><p:bg><p:bgPr><a:solidFill><a:schemeClr val="bg1"/>'
        f"</a:solidFill><a:effectLst/></p:bgPr></p:bg><p:spTree>{_GROUP}{shapes}</p:spTree></p:cSld>"
        f"{_MAP}<p:sldLayoutIdLst>{layouts}</p:sldLayoutIdLst><p:txStyles><p:titleStyle><a:lvl1pPr>"
        f'<a:buNone/><a:defRPr sz="3600" b="1">{fill.format("tx2")}</a:defRPr></a:lvl1pPr>'
        f"</p:titleStyle><p:bodyStyle>{levels}</p:bodyStyle><p:otherStyle/></p:txStyles>"
        "</p:sldMaster>"
    )


def _theme():
    colours = "".join(
        f'<a:{name}><a:srgbClr val="{value}"/></a:{name}>' for name, value in _COLOURS.items()
    )
    font = '<a:latin typeface="Liberation Sans"/><a:ea typeface=""/><a:cs typeface=""/>'
    fill = '<a:solidFill><a:schemeClr val="phClr"/></a:solidFill>'
    return (
        f'<a:theme xmlns:a="{_DRAWING}" name="Office"><a:themeElements><a:clrScheme name="Office">'
        f'{colours}</a:clrScheme><a:fontScheme name="Office"><a:majorFont>{font}</a:majorFont>'
        f'<a:minorFont>{font}</a:minorFont></a:fontScheme><a:fmtScheme name="Office">'
        f"<a:fillStyleLst>{fill * 3}</a:fillStyleLst><a:lnStyleLst>"
        + f'<a:ln w="9525">{fill}</a:ln>' * 3
        + "</a:lnStyleLst><a:effectStyleLst>"
        + "<a:effectStyle><a:effectLst/></a:effectStyle>" * 3
        + f"</a:effectStyleLst><a:bgFillStyleLst>{fill * 3}</a:bgFillStyleLst></a:fmtScheme>"
        "</a:themeElements></a:theme>"
    )
