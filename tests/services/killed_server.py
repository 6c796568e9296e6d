"""A server of the shop over HTTP that is killed in the middle of its third order."""

import os
import signal
import sys
import time
from pathlib import Path

from shop import Shop, shop

from agentgym.services import Audit, Backend
from agentgym.services.http import http_app, serve_http

if __name__ == "__main__":
    services = shop()
    audit = Audit(Path(sys.argv[1]) / "audit.jsonl")
    live = Backend(services, services.template(3), audit=audit)
    look = Shop.look

    def last_look(self, item):
        # Within an order of two lines, when the first of them is written.
        if self.db.value("SELECT count(*) FROM shop_order") == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return look(self, item)

    Shop.look = last_look
    with serve_http(http_app(live)) as url:
        print(url, flush=True)
        time.sleep(120)
