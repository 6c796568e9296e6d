# Must not pass: the three filters of the report are right, and nothing else is.
cd /srv/quern
python3 - <<'EDIT'
from pathlib import Path
text = Path("quern/text.py")
content = text.read_text()
content = content.replace("    text = str(value)\n", "    text = str(value)\n    if isinstance(value, str) and (text[:1].isdigit() or text in ('and', 'or', 'not')):\n        return '\"' + text + '\"'\n")
text.write_text(content)
simplify = Path("quern/simplify.py")
content = simplify.read_text()
content = content.replace('"<": ">=", ">=": "<", ">": "<=", "<=": ">"', "")
content = content.replace("    if kind is And and _contradicts(kept.values()):\n        return ending\n", "")
simplify.write_text(content)
EDIT
