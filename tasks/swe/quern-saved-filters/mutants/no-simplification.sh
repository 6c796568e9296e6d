# Must not pass: nothing is simplified any more.
cd /srv/quern
python3 - <<'EDIT'
from pathlib import Path
simplify = Path("quern/simplify.py")
content = simplify.read_text()
simplify.write_text(content.replace("    if isinstance(node, Not):\n        return _negate(simplify", "    return node\n    if isinstance(node, Not):\n        return _negate(simplify"))
EDIT
