"""A service for the calibration cases."""

SERVICE = """
import http.server, json, sys
NOTES = {}
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self, status, value, kind="application/json"):
        data = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
    def do_GET(self):
        if self.path == "/health":
            return self.answer(200, {"status": "ok", "load": 0.5004})
        if self.path in NOTES:
            return self.answer(200, NOTES[self.path], "text/plain")
        self.answer(404, {"error": "no such note"})
    def do_PUT(self):
        NOTES[self.path] = self.body()
        self.answer(201, "", "text/plain")
    def do_POST(self):
        self.answer(200, {"sum": sum(json.loads(self.body())["of"])})
"""


def service(change: str = "", port: int = 8080) -> str:
    """Return a service that stores notes and adds numbers, with some more code."""
    start = f"http.server.HTTPServer(('127.0.0.1', {port}), Handler).serve_forever()\n"
    return f"{SERVICE}{change}\n{start}"
