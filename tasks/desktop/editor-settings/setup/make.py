"""A text editor as it is installed, and a note about how the team's editors are to be set."""

from documents import HOME, finish, parameters

VIEW = {
    "auto-indent": "false",
    "color-scheme": "'none'",
    "font-name": "'DejaVu Sans Mono 11'",
    "highlight-current-line": "false",
    "indent-on-tab": "true",
    "indent-width": "-1",
    "insert-spaces": "false",
    "match-braces": "false",
    "right-margin-position": "80",
    "show-line-endings": "false",
    "show-line-marks": "false",
    "show-line-numbers": "false",
    "show-right-margin": "false",
    "show-whitespace": "false",
    "smart-backspace": "false",
    "smart-home-end": "'disabled'",
    "tab-width": "8",
    "use-default-monospace-font": "false",
    "word-wrap": "false",
}
FILE = {
    "add-last-end-of-line": "false",
    "auto-reload": "false",
    "autosave-timer": "30",
    "default-encoding": "'UTF-8'",
    "make-backup": "false",
    "monitor-changes": "true",
    "session-restore": "'after-a-crash'",
}
WINDOW = {
    "always-show-tabs": "false",
    "cycle-tabs": "false",
    "expand-tabs": "true",
    "menubar-visible": "true",
    "opening-mode": "'tab'",
    "path-in-title": "true",
    "recent-menu-items": "10",
    "remember-position": "false",
    "remember-size": "true",
    "remember-state": "true",
    "statusbar-visible": "true",
    "toolbar-visible": "false",
}
NOTE = """How we set our text editors
(for everybody who touches the price files; last changed in January)

A tab is shown {tab} characters wide.
The Tab key puts in spaces, not a tab.
The numbers of the lines are shown.
A line at column {margin} marks how long a line may be.

Lines are never wrapped, and a copy of the file is not kept when saving;
both are so from the start. Font and colours are a matter of taste.
"""
given = parameters()
store = HOME / ".config/glib-2.0/settings/keyfile"
store.parent.mkdir(parents=True)
with store.open("w") as file:
    for name, values in (("view", VIEW), ("file", FILE), ("window", WINDOW)):
        file.write(f"[org/xfce/mousepad/preferences/{name}]\n")
        file.writelines(f"{key}={value}\n" for key, value in values.items())
        file.write("\n")
(HOME / "Notes").mkdir()
(HOME / "Notes" / "editors.txt").write_text(NOTE.format(**given))
finish("mousepad /home/user/Notes/editors.txt")
