"""Names of roles and states: AT-SPI's numbers in the words of ARIA, as web pages use them."""

ROLES = {
    "push button": "button",
    "push button menu": "button",
    "toggle button": "togglebutton",
    "check box": "checkbox",
    "check menu item": "menuitemcheckbox",
    "combo box": "combobox",
    "dialog": "dialog",
    "file chooser": "dialog",
    "entry": "textbox",
    "password text": "textbox",
    "text": "textbox",
    "frame": "window",
    "icon": "icon",
    "image": "img",
    "label": "label",
    "static": "label",
    "link": "link",
    "list": "list",
    "list box": "listbox",
    "list item": "listitem",
    "menu": "menu",
    "menu bar": "menubar",
    "menu item": "menuitem",
    "page tab": "tab",
    "page tab list": "tablist",
    "paragraph": "paragraph",
    "heading": "heading",
    "progress bar": "progressbar",
    "radio button": "radio",
    "radio menu item": "menuitemradio",
    "scroll bar": "scrollbar",
    "separator": "separator",
    "slider": "slider",
    "spin button": "spinbutton",
    "status bar": "status",
    "table": "table",
    "table cell": "cell",
    "table column header": "columnheader",
    "table row header": "rowheader",
    "tool bar": "toolbar",
    "tool tip": "tooltip",
    "tree": "tree",
    "tree table": "treegrid",
    "tree item": "treeitem",
    "window": "window",
    "alert": "alert",
    "terminal": "terminal",
    "document frame": "document",
    "document text": "document",
    "document spreadsheet": "document",
    "document presentation": "document",
}
LAYOUT = frozenset(
    (
        *("filler", "panel", "layered pane", "scroll pane", "viewport", "split pane", "unknown"),
        *("root pane", "glass pane", "redundant object", "section", "grouping", "option pane"),
    )
)
"""Roles that only hold others; without a name they are left out."""

TEXTUAL = frozenset(
    (
        *("entry", "password text", "text", "paragraph", "heading", "terminal", "label"),
        *("table cell", "spin button", "static", "combo box", "section"),
    )
)
"""Roles whose text is read; a section of a web page without a name is named after its text."""

VALUED = frozenset(("slider", "spin button", "progress bar", "scroll bar"))
"""Roles whose number is read."""

# Numbers of AtspiStateType.
CHECKED, ENABLED, EXPANDABLE, EXPANDED, EDITABLE, FOCUSED = 4, 8, 9, 10, 7, 12
SELECTED, SENSITIVE, SHOWING, VISIBLE, MANAGES, MIXED, PRESSED = 23, 24, 25, 30, 31, 32, 20
_NEVER = LAYOUT | {"application", "separator"}


def flags_of(states, role):
    """Return the flags of an element by its states, in the words of the browser's tree."""
    flags = []
    if SENSITIVE not in states and ENABLED not in states and role not in _NEVER:
        flags.append("disabled")
    for state, flag in ((CHECKED, "checked"), (MIXED, "mixed"), (SELECTED, "selected")):
        if state in states:
            flags.append(flag)
    if PRESSED in states and role == "toggle button":
        flags.append("checked")
    if EXPANDABLE in states:
        flags.append("expanded" if EXPANDED in states else "collapsed")
    if role in ("entry", "text") and EDITABLE not in states:
        flags.append("readonly")
    if FOCUSED in states:
        flags.append("focused")
    return list(dict.fromkeys(flags))


def states_of(answer):
    """Return the numbers of the states in an answer to GetState."""
    low, high = (*answer[0], 0, 0)[:2]
    return {bit for bit in range(64) if (low | high << 32) >> bit & 1}
