"""Run the renamed package in a clean room and say what each run printed.

Every run is a process of its own. What is expected is known to the grader only
(`agentgym.verify.probing`).
"""

import os
import resource
import shutil
import subprocess

# Only a program that hangs takes so long, on a busy machine too; one that loops uses its processor
# time up.
WALL_S, PROCESSOR_S = 60, 10
HUNG = 124


def run(code, arguments, environment):
    env = {"PATH": "/usr/bin:/bin", "PYTHONPATH": "/srv/app/src", "PYTHONDONTWRITEBYTECODE": "1"}
    argv = ["/usr/bin/python3", "-sS", *code, *arguments]
    try:
        done = subprocess.run(
            argv, cwd="/tmp", env={**env, **environment}, capture_output=True, timeout=WALL_S
        )
    except subprocess.TimeoutExpired:
        return {"code": HUNG, "out": "", "err": f"did not end within {WALL_S} s"}
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return {"code": done.returncode, "out": out[:8_000], "err": err[-300:]}


def answer(order):
    if order["without"]:
        shutil.rmtree(order["without"], ignore_errors=True)
        if os.path.lexists(order["without"]):
            os.unlink(order["without"])
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_S, resource.RLIM_INFINITY))
    seen = []
    for one in order["runs"]:
        # A program that has hung once is not tried again: each time would take as long.
        hung = seen and seen[-1]["code"] == HUNG
        seen.append(seen[-1] if hung else run(*one))
    return seen
