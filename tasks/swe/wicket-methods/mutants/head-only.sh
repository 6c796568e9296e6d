# Must not pass: HEAD is answered, and neither OPTIONS nor Allow is.
cd /srv/wicket
python3 - <<'EDIT'
from pathlib import Path
path = Path("wicket/app.py")
text = path.read_text()
text = text.replace("self.find(request.method, request.path)", "self.find('GET' if request.method == 'HEAD' else request.method, request.path)")
text = text.replace("        response = self.respond(Request.from_environ(environ))\n", "        request = Request.from_environ(environ)\n        response = self.respond(request)\n")
text = text.replace("        return [response.body]\n", "        return [] if request.method == 'HEAD' else [response.body]\n")
path.write_text(text)
EDIT
