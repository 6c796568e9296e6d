# Wants day of month and day of week to match together; cron takes either.
cat > /tmp/runs.py <<'PY'
import csv, re, sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo

base = Path("/srv/cron")
start = datetime.fromisoformat(sys.argv[1]).replace(tzinfo=timezone.utc)
end = start + timedelta(days=5)
macros = {"@hourly": "0 * * * *", "@daily": "0 0 * * *", "@weekly": "0 0 * * 0", "@monthly": "0 0 1 * *"}
days = {n: i for i, n in enumerate("sun mon tue wed thu fri sat".split())}
months = {n: i for i, n in enumerate("jan feb mar apr may jun jul aug sep oct nov dec".split(), 1)}

def expand(text, low, high, names={}):
    values = []
    for part in text.lower().split(","):
        part, step = (part.split("/") + ["1"])[:2]
        if part == "*":
            a, b = low, high
        else:
            bounds = [names[x] if x in names else int(x) for x in part.split("-")]
            a, b = bounds[0], bounds[-1]
        values += list(range(a, b + 1, int(step)))
    return values

runs = []
for path in sorted((base / "crontabs").glob("*.cron")):
    zone = ZoneInfo("UTC")
    for line in path.read_text().splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        setting = re.match(r"(\w+)\s*=\s*(.*)", line)
        if setting:
            if setting[1] == "CRON_TZ":
                zone = ZoneInfo(setting[2].strip())
            continue
        if line.startswith("@"):
            macro, command = line.split(None, 1)
            if macro == "@reboot":
                continue
            fields = macros[macro].split()
        else:
            *fields, command = line.split(None, 5)
        job = re.search(r"batch-run\s+(\S+)", command)[1]
        mi, ho, dm, mo, dw = fields
        minutes, hours = expand(mi, 0, 59), expand(ho, 0, 23)
        mdays, mons = expand(dm, 1, 31), expand(mo, 1, 12, months)
        wdays = {d % 7 for d in expand(dw, 0, 7, days)}
        day = (start - timedelta(days=2)).date()
        while day <= end.date() + timedelta(days=2):
            a, b = day.day in mdays, (day.weekday() + 1) % 7 in wdays
            match = a and b
            if match and day.month in mons:
                for hour in hours:
                    for minute in minutes:
                        for fold in (0, 1) if ho == "*" else (0,):
                            local = datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone, fold=fold)
                            utc = local.astimezone(timezone.utc)
                            back = utc.astimezone(zone)
                            if back.replace(tzinfo=None) != local.replace(tzinfo=None):
                                continue  # the clock jumped over it
                            if start <= utc < end:
                                runs.append((utc, path.stem, job))
            day += timedelta(days=1)
runs = sorted(set(runs))
stamp = "%Y-%m-%dT%H:%MZ"
with open(base / "runs.csv", "w") as out:
    print("utc,host,job", file=out)
    for utc, host, job in runs:
        print(utc.strftime(stamp), host, job, sep=",", file=out)

jobs = {row["job"]: (row["lock"], int(row["minutes"])) for row in csv.DictReader(open(base / "jobs.csv"))}
clashes = []
for t1, _, one in runs:
    lock, minutes = jobs[one]
    for t2, _, two in runs:
        if lock and one != two and jobs[two][0] == lock and t1 <= t2 < t1 + timedelta(minutes=minutes):
            if t1 < t2 or one < two:
                clashes.append((t2, lock, one, two))
with open(base / "clashes.csv", "w") as out:
    print("utc,lock,first,second", file=out)
    for utc, *rest in sorted(clashes):
        print(utc.strftime(stamp), *rest, sep=",", file=out)
print(len(runs), "runs,", len(clashes), "clashes")
PY
python3 /tmp/runs.py "$PARAM_START" && rm /tmp/runs.py
