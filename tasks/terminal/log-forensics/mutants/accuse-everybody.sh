# Must not pass: names every address that ever failed and every account it opened, hoping for recall.
python3 - <<'PY'
import glob, gzip, json, re
text = ""
for path in glob.glob("/srv/incident/*/auth.log*"):
    text += (gzip.open if path.endswith(".gz") else open)(path, "rt").read()
bad = set(re.findall(r"login.failed user=\S+ addr=(\S+)", text))
opened = {u.lower(): (t, a) for t, u, a in re.findall(r"(?m)^(\S+) .*session.open user=(\S+) addr=(\S+)", text) if a in bad}
json.dump({"attacking_addresses": sorted(bad), "taken_over": [
    {"account": u, "address": a, "first_session": t, "exported_bytes": 0} for u, (t, a) in opened.items()
]}, open("/root/incident.json", "w"))
PY
