"""Run the script on prepared folders in a clean room and list what it made of them.

Which case is right is for the grader to say (`agentgym.verify.probing`).
"""

import base64
import os
import subprocess

SCRIPT = "/srv/intake/bin/file-drop"
MOST_ENTRIES = 300


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
            timeout=5,
        )
        code, out, err = done.returncode, done.stdout[:2_000], done.stderr[:8_000]
    except subprocess.TimeoutExpired:
        code, out, err = 124, b"", b""
    except OSError:
        code, out, err = 127, b"", b""
    out, err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return {"code": code, "out": out, "err": err, "tree": tree(root)}


def answer(cases):
    return [run(number, case) for number, case in enumerate(cases)]
