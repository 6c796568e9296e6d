# Must not pass: events wait, and everything else is as before: errors, timers, watchers, circles.
cd /srv/latch
python3 - <<'EDIT'
from pathlib import Path
path = Path("latch/machine.py")
text = path.read_text()
text = text.replace("        self._timers = Timers()\n", "        self._timers = Timers()\n        self._waiting = []\n        self._busy = False\n")
old = text[text.index("        event = Event(name, data)\n        transition = self._find(event)"):text.index("    def can(")]
new = '''        self._waiting.append(Event(name, data))
        if self._busy:
            return False
        answer, self._busy, count = None, True, 0
        try:
            while self._waiting:
                event, count = self._waiting.pop(0), count + 1
                if count > 1000:
                    raise ChartError('more than 1000 events')
                transition = self._find(event)
                if transition is not None:
                    self._take(transition, event)
                answer = transition is not None if answer is None else answer
        finally:
            self._busy = False
        return bool(answer)

'''
path.write_text(text.replace(old, new))
EDIT
