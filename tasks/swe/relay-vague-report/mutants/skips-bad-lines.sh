# Must not pass: lines that cannot be read are skipped, so that jobs vanish from the night run.
cd /srv/relay
python3 - <<'EDIT'
from pathlib import Path
reader = Path("relay/reader.py")
text = reader.read_text()
old = "            raise JobError(f\"{path}:{number}: expected NAME: NEEDS !PRIORITY, got {text!r}\")\n"
assert old in text
reader.write_text(text.replace(old, "            continue\n"))
EDIT
