# Must not pass: the handler of static files checks names, and pages do not.
cd /srv/wicket
python3 - <<'EDIT'
from pathlib import Path
static = Path("wicket/static.py")
text = static.read_text()
text = text.replace("        body = folder.read(name)\n", "        found = folder.find(name)\n        inside = found is not None and found.resolve().is_relative_to(Path(folder.root).resolve()) and found.is_file()\n        hidden = inside and any(p.startswith('.') for p in found.resolve().relative_to(Path(folder.root).resolve()).parts)\n        body = folder.read(name) if inside and not hidden else None\n")
static.write_text(text)
EDIT
