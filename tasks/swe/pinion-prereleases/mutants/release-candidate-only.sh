# Must not pass: the release candidate of the report is not chosen, and everything else is as before.
cd /srv/pinion
python3 - <<'EDIT'
from pathlib import Path
path = Path("pinion/constraint.py")
text = path.read_text()
start = text.index("        return version > max(")
end = text.index("    return all(each.allows")
path.write_text(text[:start] + "        return False\n" + text[end:])
EDIT
