# Must not pass: tags follow put and load, but the statistics are as they were.
cd /srv/shelf
python3 - <<'EDIT'
from pathlib import Path
cache, storage = Path("shelf/cache.py"), Path("shelf/storage.py")
text = cache.read_text()
text = text.replace("        self._entries[key] = entry\n", "        if key in self._entries:\n            self._remove(key)\n        self._entries[key] = entry\n", 1)
cache.write_text(text)
text = storage.read_text()
storage.write_text(text.replace('Entry(found["value"], expires)', 'Entry(found["value"], expires, frozenset(found["tags"]))'))
EDIT
