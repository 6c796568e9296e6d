python3 - <<'PY'
import collections, datetime, glob, gzip, json, os, re

def lines(name):
    for path in glob.glob(f"/srv/incident/*/{name}.log*"):
        with (gzip.open if path.endswith(".gz") else open)(path, "rt") as log:
            yield from log

auth, failed, sessions = [], collections.defaultdict(set), []
for line in lines("auth"):
    stamp, _, _, event, *fields = line.split()
    time = datetime.datetime.fromisoformat(stamp).astimezone(datetime.timezone.utc)
    fields = dict(field.split("=", 1) for field in fields)
    if event == "login.failed":
        failed[fields["addr"], time.date()].add(fields["user"].lower())
    elif event == "session.open":
        sessions.append((time, fields["user"].lower(), fields["addr"], fields["sid"]))

limit = int(os.environ["PARAM_THRESHOLD"])
attacking = {address for (address, _), users in failed.items() if len(users) >= limit}

sent = collections.Counter()
request = re.compile(r'"GET /api/v2/export/\S* HTTP/1.1" 200 (\d+) .* sid=(\w+)$')
for line in lines("access"):
    if match := request.search(line):
        sent[match[2]] += int(match[1])

taken = {}
for time, user, address, sid in sorted(sessions):
    if address in attacking:
        entry = taken.setdefault(user, {
            "account": user, "address": address,
            "first_session": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "exported_bytes": 0})
        entry["exported_bytes"] += sent[sid]
with open("/root/incident.json", "w") as report:
    json.dump({"attacking_addresses": sorted(attacking), "taken_over": list(taken.values())}, report, indent=2)
PY
