# Must not pass: subscribers are called in order, but retained messages and the journal are not.
cd /srv/bell
python3 - <<'EDIT'
from pathlib import Path
index = Path("bell/index.py")
text = index.read_text()
text = text.replace("        return sorted(found, key=lambda each: -each.priority)", "        order = list(self._subscriptions)\n        return sorted(found, key=lambda each: (-each.priority, order.index(each.name)))")
index.write_text(text)
EDIT
