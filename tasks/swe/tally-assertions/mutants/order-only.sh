# Must not pass: assertions go by date, but places are still those of one long text.
cd /srv/tally
python3 - <<'EDIT'
from pathlib import Path
path = Path("tally/book.py")
text = path.read_text()
sort = "        self.entries.sort(key=lambda entry: entry.when)\n"
check = "        self._check_assertions()\n"
path.write_text(text.replace(check + sort, sort + check))
EDIT
