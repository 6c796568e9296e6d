"""Run the script on prepared folders in a clean room and list what it made of them.

Which case is right is for the grader to say (`agentgym.verify.probing`).
"""

import base64
import os
import resource
import subprocess

SCRIPT = "/srv/intake/bin/file-drop"
MOST_ENTRIES = 300
# Only a script that hangs takes so long, on a busy machine too; one that loops uses processor time.
WALL_S, PROCESSOR_S = 60, 10
HUNG = 124


def make(root, entries):
    for name, kind, text, time in entries:
        path = os.path.join(root, name)
        os.makedirs(path if kind == "dir" else os.path.dirname(path), exist_ok=True)
        if kind == "link":
            os.symlink(text, path)
        elif kind == "pipe":
            os.mkfifo(path)
        elif kind == "file":
            with open(path, "w") as file:
                file.write(text)
            os.chmod(path, 0o640)
            os.utime(path, (time, time))


def tree(root):
    found = {}
    for folder, folders, files in os.walk(root):
        for name in files + [
            name for name in folders if os.path.islink(os.path.join(folder, name))
        ]:
            path = os.path.join(folder, name)
            key = os.path.relpath(path, root)
            if os.path.islink(path):
                found[key] = ["link", os.readlink(path)]
            elif os.path.isfile(path):
                with open(path, "rb") as file:
                    seen = os.fstat(file.fileno())
                    text = base64.b64encode(file.read(20_000)).decode()
                found[key] = ["file", text, seen.st_mode & 0o7777, int(seen.st_mtime)]
            else:
                found[key] = ["other", ""]
            if len(found) > MOST_ENTRIES:
                return found
        found.update(
            {
                os.path.relpath(os.path.join(folder, name), root): ["dir", ""]
                for name in folders
                if not os.path.islink(os.path.join(folder, name))
            }
        )
    return found


def run(number, case):
    root = f"/tmp/case-{number}"
    os.makedirs(root)
    make(root, case["entries"])
    try:
        done = subprocess.run(
            [SCRIPT, *(word.replace("ROOT", root) for word in case["arguments"])],
            cwd=os.path.join(root, case["cwd"]),
            env={"PATH": "/usr/bin:/bin", "TZ": "America/Lima", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=WALL_S,
        )
        code, out, err = done.returncode, done.stdout[:2_000], done.stderr[:8_000]
    except subprocess.TimeoutExpired:
        code, out, err = HUNG, b"", b""
    except OSError:
        code, out, err = 127, b"", b""
    out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return {"code": code, "out": out, "err": err, "tree": tree(root)}


def answer(cases):
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, resource.RLIM_INFINITY))
    seen = []
    for number, case in enumerate(cases):
        # A script that has hung once is not tried again: each time would take as long.
        hung = any(one["code"] == HUNG for one in seen)
        seen.append({"code": HUNG, "out": "", "err": "", "tree": {}} if hung else run(number, case))
    return seen
