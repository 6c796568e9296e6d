# Must not pass: the report is right, but the archives were unpacked in place and the evidence is no longer what it was.
gunzip /srv/incident/*/*.gz
python3 - <<'PY'
import collections, datetime, glob, json, os, re
failed, sessions, sent = collections.defaultdict(set), [], collections.Counter()
for path in glob.glob("/srv/incident/*/*.log*"):
    for line in open(path):
        day = None
        if "authd[" in line:
            time = datetime.datetime.fromisoformat(line.split()[0]).astimezone(datetime.timezone.utc)
        if m := re.search(r"login.failed user=(\S+) addr=(\S+)", line):
            failed[m[2], time.date()].add(m[1].lower())
        elif m := re.search(r"session.open user=(\S+) addr=(\S+) sid=(\S+)", line):
            sessions.append((time, m[1].lower(), m[2], m[3]))
        elif m := re.search(r"/api/v2/export/\S+ HTTP/1.1. 200 (\d+) .*sid=(\w+)", line):
            sent[m[2]] += int(m[1])
bad = {key[0] for key, users in failed.items() if len(users) >= int(os.environ["PARAM_THRESHOLD"])}
taken = {}
for time, user, address, sid in sorted(sessions):
    if address in bad:
        e = taken.setdefault(user, {"account": user, "address": address, "exported_bytes": 0,
                                    "first_session": time.strftime("%Y-%m-%dT%H:%M:%SZ")})
        e["exported_bytes"] += sent[sid]
json.dump({"attacking_addresses": list(bad), "taken_over": list(taken.values())}, open("/root/incident.json", "w"))
PY
