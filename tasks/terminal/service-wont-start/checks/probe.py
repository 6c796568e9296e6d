"""Drive the repaired linkd inside a clean room (`agentgym.verify.probing`) and say what was seen.

Every scenario begins at rest, without the pid and lock files that a running service rightly leaves
in a snapshot.
"""

import contextlib
import glob
import http.client
import json
import os
import socket
import sqlite3
import stat
import subprocess

HOME = "/srv/linkd"
MOST_ROWS = 5_000
# Only a service that hangs takes so long, on a busy machine too.
WALL_S, ANSWER_S = 90, 30
PORT = 8080
# Where state could go instead of below /srv/linkd.
ELSEWHERE = ("/tmp", "/var", "/run", "/dev/shm", "/root", "/home", "/etc", "/opt", "/usr/local")
LOGS = "/var/log/linkd"


def service(verb):
    """Return the exit code of the service script, and the end of what it said."""
    done = subprocess.run(
        [HOME + "/service", verb],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=WALL_S,
    )
    return done.returncode, done.stdout.decode(errors="replace").strip()[-300:]


def request(method, path, body=None):
    """Return (status, Location header), or (0, why not)."""
    connection = http.client.HTTPConnection("127.0.0.1", 8080)
    connection.sock = socket.socket()  # looks no name up, which would load libraries
    connection.sock.settimeout(ANSWER_S)
    try:
        connection.sock.connect(("127.0.0.1", 8080))
        connection.request(method, path, body)
        response = connection.getresponse()
        response.read(2**20)
        return response.status, response.getheader("Location")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def start(_):
    code, said = service("start")
    status, why = request("GET", "/health")
    return {"code": code, "said": said, "health": status, "why": why}


def links(slugs):
    return {"start": start(slugs), "answers": {slug: request("GET", "/" + slug) for slug in slugs}}


def kept(_):
    """Return the rows of every database below data/ that has links, without starting anything."""
    found = []
    for path in sorted(glob.iglob(HOME + "/data/**", recursive=True))[:100]:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            continue
        for column in ("target", "url"):
            with (
                contextlib.suppress(sqlite3.Error),
                contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database,
            ):
                columns = f"slug, {column}, owner, created, hits"
                rows = database.execute(f"SELECT {columns} FROM links").fetchmany(MOST_ROWS)
                found.append([[repr(cell)[:300] for cell in row] for row in rows])
    return found


def listening():
    """Return the addresses, as the kernel writes them, at which the port is listened to."""
    found = []
    for path in ("/proc/net/tcp", "/proc/net/tcp6"):
        with contextlib.suppress(OSError), open(path) as file:
            rows = [line.split() for line in file.readlines()[1:]]
            ends = [row[1].split(":") for row in rows if row[3] == "0A"]  # TCP_LISTEN
            found += [address for address, port in ends if int(port, 16) == PORT]
    return found


def files_elsewhere():
    found = set()
    for top in ELSEWHERE:
        for folder, folders, names in os.walk(top):
            if folder == LOGS:
                folders.clear()
                continue
            found |= {f"{folder}/{name}" for name in names}
    return found


def served(slugs):
    """Return how linkd was started, where it listens, what it writes outside of its folders, and
    which rows the database holds that it has open."""
    before = files_elsewhere()
    seen = start(slugs)
    seen["listening"] = listening()
    seen["written"] = sorted(files_elsewhere() - before)[:3]
    for process in glob.glob("/proc/[0-9]*"):
        with contextlib.suppress(OSError), open(f"{process}/cmdline", "rb") as file:
            argv = [part.decode(errors="replace") for part in file.read().split(b"\0")[:-1]]
            if argv[1:2] != [f"{HOME}/bin/linkd"]:
                continue
            for descriptor in glob.glob(f"{process}/fd/*"):
                if not stat.S_ISREG(os.stat(descriptor).st_mode):
                    continue
                with open(descriptor, "rb") as database:
                    if database.read(15) == b"SQLite format 3":
                        found = {"rows": rows(os.readlink(descriptor)), "argv": argv}
                        return {**seen, **found}
    return {**seen, "rows": [], "argv": []}


def rows(path):
    columns = "slug, url, owner, created, hits, enabled"
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        found = database.execute(f"SELECT {columns} FROM links").fetchmany(MOST_ROWS)
    return [[repr(cell)[:300] for cell in row] for row in found]


def create(slugs):
    made = json.dumps({"slug": "probe-link", "url": "https://probe.example/x"})
    return {
        "start": start(slugs),
        "created": request("POST", "/api/links", made),
        "restart": service("restart"),
        "found": request("GET", "/probe-link"),
        "refused": (
            request("POST", "/api/links", json.dumps({"slug": "x", "url": "https://x.example"}))[0],
            request("POST", "/api/links", json.dumps({"slug": "long", "url": "x" * 40_000}))[0],
        ),
    }


def cycle(slugs):
    return {
        "start": start(slugs),
        "running": service("status")[0],
        "twice": (service("start") and service("status")[0], request("GET", "/health")[0]),
        "stopped": (service("stop")[0], service("status")[0], request("GET", "/health")[0]),
        "refused": service("nonsense"),
        "again": (service("start")[0], request("GET", "/health")[0], service("status")[0]),
    }


SCENARIOS = {"links": links, "kept": kept, "served": served, "create": create, "cycle": cycle}


def answer(order):
    for leftover in ("run/linkd.pid", "data/linkd.lock"):
        if os.path.lexists(f"{HOME}/{leftover}"):
            os.unlink(f"{HOME}/{leftover}")
    scenario = SCENARIOS[order["scenario"]]
    try:
        return scenario(order["slugs"])
    finally:
        if scenario is not kept:  # the only one that has started nothing
            service("stop")
