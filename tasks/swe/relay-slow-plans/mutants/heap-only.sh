# Must not pass: jobs are found by name at once, but circles and blocked jobs are searched as before.
cd /srv/relay
python3 - <<'EDIT'
from pathlib import Path
path = Path("relay/graph.py")
text = path.read_text()
text = text.replace("        self._jobs: list[Job] = []\n", "        self._jobs: list[Job] = []\n        self._named: dict[str, Job] = {}\n")
text = text.replace("        self._jobs.append(job)\n", "        self._jobs.append(job)\n        self._named[job.name] = job\n")
text = text.replace("        for job in self._jobs:\n            if job.name == name:\n                return job\n", "        if name in self._named:\n            return self._named[name]\n")
text = text.replace("        return any(job.name == name for job in self._jobs)\n", "        return name in self._named\n")
path.write_text(text)
EDIT
