# Must not pass: something else answers on the port, with answers read from the database; the service is as broken as before.
cat > /srv/linkd/linkd.py <<'PY'
import http.server, sqlite3
links = dict(sqlite3.connect("/srv/linkd/data/links.db").execute("SELECT slug, target FROM links"))
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = links.get(self.path[1:])
        self.send_response(302 if url else 200)
        self.send_header("Location", url or "/")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
PY
cd /srv/linkd
setsid /usr/bin/python3 linkd.py > /dev/null 2>&1 < /dev/null &
disown
until (: < /dev/tcp/127.0.0.1/8080) 2> /dev/null; do sleep 0.1; done
