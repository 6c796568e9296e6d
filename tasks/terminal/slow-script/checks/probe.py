"""Run the judged script in a clean room and count what it does; prints one JSON object.

Prices and counts are in this process only. The room's `ratecard` asks it for each price over a
socket, and processes are counted by the process ids handed out in between, which does not depend
on the machine's speed. Started before anything of the agent's, it shuts itself off: the script can
end it, which the grader sees by the exit code, but neither read nor alter what it knows.
"""

import ctypes
import json
import socket
import subprocess
import sys
import threading

PR_SET_DUMPABLE = 4
MOST_BYTES = 50_000


def shut_off():
    """Close /proc/<pid>/mem, /fd and ptrace to other processes, and import nothing any more."""
    if ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0):
        sys.exit("prctl failed")
    sys.meta_path.clear()


class Meter(threading.Thread):
    """Answers ``PLAN REGION`` with the price or with ``none``, and counts the questions."""

    def __init__(self, port, prices):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.prices = prices
        self.calls = 0

    def run(self):
        while True:
            asker, _ = self.listener.accept()
            with asker:
                asker.settimeout(1)
                try:
                    question = asker.recv(4096)
                    self.calls += 1
                    pair = question.decode(errors="replace").strip()
                    asker.sendall(f"{self.prices.get(pair, 'none')}\n".encode())
                except OSError:
                    self.calls += 1


def next_pid():
    """Return a process id that was just handed out."""
    process = subprocess.Popen(
        ["/bin/true"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    process.wait()
    return process.pid


def main():
    shut_off()
    order = json.load(sys.stdin)
    meter = Meter(order["port"], order["prices"])
    meter.start()
    first = next_pid()
    script = subprocess.Popen(
        order["argv"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    output = script.stdout.read(MOST_BYTES)
    script.stdout.close()
    code = script.wait()
    processes = next_pid() - first - 1
    seen = {"code": code, "calls": meter.calls, "processes": processes}
    print(json.dumps({**seen, "output": output.decode(errors="replace")}))


main()
