# Must not pass: applies the rule to each server by itself, in its local days, and so misses the quiet addresses.
python3 - <<'PY'
import collections, glob, gzip, json, os, re
failed, sessions, sent = collections.defaultdict(set), [], collections.Counter()
for path in glob.glob("/srv/incident/*/*.log*"):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as log:
        for line in log:
            if m := re.search(r"^(\S{10})\S+ (\S+) .*login.failed user=(\S+) addr=(\S+)", line):
                failed[m[4], m[2], m[1]].add(m[3].lower())
            elif m := re.search(r"^(\S{19})\S+ .*session.open user=(\S+) addr=(\S+) sid=(\S+)", line):
                sessions.append((m[1] + "Z", m[2].lower(), m[3], m[4]))
            elif m := re.search(r"/api/v2/export/\S+ HTTP/1.1. 200 (\d+) .*sid=(\w+)", line):
                sent[m[2]] += int(m[1])
bad = {key[0] for key, users in failed.items() if len(users) >= int(os.environ["PARAM_THRESHOLD"])}
taken = {}
for time, user, address, sid in sorted(sessions):
    if address in bad:
        e = taken.setdefault(user, {"account": user, "address": address, "first_session": time, "exported_bytes": 0})
        e["exported_bytes"] += sent[sid]
json.dump({"attacking_addresses": list(bad), "taken_over": list(taken.values())}, open("/root/incident.json", "w"))
PY
