"""Run the renamed package in a clean room and say what each run printed.

Every run is a process of its own. What is expected is known to the grader only
(`agentgym.verify.probing`).
"""

import os
import shutil
import subprocess


def run(code, arguments, environment):
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/srv/app/src", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = ["/usr/bin/python3", "-sS", *code, *arguments]
    try:
        done = subprocess.run(
            argv, cwd="/tmp", env={**env, **environment}, capture_output=True, timeout=5
        )
    except subprocess.TimeoutExpired:
        return {"code": 124, "out": "", "err": "did not end within 5 s"}
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return {"code": done.returncode, "out": out[:8_000], "err": err[-300:]}


def answer(order):
    if order["without"]:
        shutil.rmtree(order["without"], ignore_errors=True)
        if os.path.lexists(order["without"]):
            os.unlink(order["without"])
    return [run(*one) for one in order["runs"]]
