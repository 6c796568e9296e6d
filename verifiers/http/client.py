"""Start a service in a clean room and send requests; run as ``client.py ANSWER``, order on stdin.

The service can see and change everything here, but gains nothing by it: only the grader, outside
the room, knows the expected answers, and a forged answer counts like the service's own.
"""

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time

MOST_BYTES = 2**20
LOG = "/tmp/agentgym-service.log"


def is_up(port):
    """Return whether a program listens."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def ask(order, request):
    """Return the service's answer to one request."""
    connection = http.client.HTTPConnection("127.0.0.1", order["port"], timeout=order["answer_s"])
    until = time.monotonic() + order["answer_s"]
    try:
        body = request["body"].encode() if request["body"] else None
        connection.request(request["method"], request["path"], body, request["headers"])
        answer = connection.getresponse()
        data = b""
        while len(data) <= MOST_BYTES and time.monotonic() < until:
            part = answer.read1(65536)
            if not part:
                break
            data += part
        else:
            return {"fault": "the answer does not end"}
    except (OSError, http.client.HTTPException, ValueError) as error:
        return {"fault": f"{type(error).__name__}: {error}"}
    finally:
        connection.close()
    body = base64.b64encode(data).decode()
    return {"status": answer.status, "headers": answer.getheaders(), "body": body}


def main():
    """Start the service, wait until it listens, send the requests, and end it."""
    order = json.load(sys.stdin)
    found = {"ready": False, "answers": []}
    with open(LOG, "wb") as log:
        try:
            service = subprocess.Popen(
                order["argv"],
                cwd=order["cwd"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        except OSError as error:
            found["log"] = str(error)
        else:
            until = time.monotonic() + order["ready_s"]
            while not found["ready"] and time.monotonic() < until and service.poll() in (None, 0):
                found["ready"] = is_up(order["port"])
                time.sleep(0 if found["ready"] else 0.02)
            if found["ready"]:
                found["answers"] = [ask(order, request) for request in order["requests"]]
            with contextlib.suppress(ProcessLookupError):
                os.killpg(service.pid, signal.SIGKILL)
            with open(LOG, "rb") as said:
                found["log"] = said.read()[-300:].decode("utf-8", "replace")
    with open(sys.argv[1], "w") as file:
        json.dump(found, file)


main()
