"""Drive the repaired linkd inside a clean room; prints one JSON object.

Runs as ``probe.py SCENARIO`` with the links to try and a token as JSON on stdin. The token is given
back with the answer, so that a service script cannot answer in the probe's place. Every scenario
begins at rest, without the pid and lock files that a running service rightly leaves in a snapshot.
"""

import contextlib
import glob
import http.client
import json
import os
import sqlite3
import subprocess
import sys

HOME = "/srv/linkd"


def service(verb):
    done = subprocess.run(
        [HOME + "/service", verb], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=20
    )
    return done.returncode, done.stdout.decode(errors="replace").strip()[-300:]


def request(method, path, body=None):
    """Return (status, Location header), or (0, why not)."""
    connection = http.client.HTTPConnection("127.0.0.1", 8080, timeout=5)
    try:
        connection.request(method, path, body)
        response = connection.getresponse()
        response.read()
        return response.status, response.getheader("Location")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def start(_):
    code, said = service("start")
    status, why = request("GET", "/health")
    if code != 0 or status != 200:
        return f"start exits with {code} ({said}); /health answers {status} ({why})"


def links(wanted):
    problem = start(None)
    wrong = [slug for slug, url in wanted.items() if request("GET", "/" + slug) != (302, url)]
    return {"problem": problem, "wrong": wrong}


def kept(wanted):
    """Return how many links no database below data/ holds any more."""
    found = set()
    for path in glob.glob(HOME + "/data/**", recursive=True):
        for column in ("target", "url"):
            with contextlib.suppress(sqlite3.Error):
                database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
                found |= set(database.execute(f"SELECT slug, {column} FROM links"))
    return len(set(wanted.items()) - found)


def create(_):
    made = json.dumps({"slug": "probe-link", "url": "https://probe.example/x"})
    problem = start(None)
    created = request("POST", "/api/links", made)
    again = service("restart")
    found = request("GET", "/probe-link")
    if problem or created[0] != 201 or found != (302, "https://probe.example/x"):
        return problem or f"creating answers {created}, restart {again}, the link answers {found}"


def cycle(_):
    problem = start(None)
    running = service("status")[0]
    stopped = service("stop")[0], service("status")[0], request("GET", "/health")[0]
    again = service("start")[0], request("GET", "/health")[0], service("status")[0]
    if problem or running != 0:
        return problem or f"status exits with {running} while linkd runs"
    if stopped != (0, 3, 0):
        return f"stop, status and /health then give {stopped} instead of (0, 3, 0)"
    if again != (0, 200, 0):
        return f"start, /health and status then give {again} instead of (0, 200, 0)"


SCENARIOS = {"start": start, "links": links, "kept": kept, "create": create, "cycle": cycle}


def main():
    for leftover in ("run/linkd.pid", "data/linkd.lock"):
        if os.path.lexists(f"{HOME}/{leftover}"):
            os.unlink(f"{HOME}/{leftover}")
    order, scenario = json.load(sys.stdin), SCENARIOS[sys.argv[1]]
    try:
        result = scenario(order["links"])
    finally:
        if scenario is not kept:  # the only one that has started nothing
            service("stop")
    print(json.dumps({"token": order["token"], "result": result}))


main()
