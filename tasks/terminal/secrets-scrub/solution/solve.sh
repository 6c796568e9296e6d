# Stream the history through a filter that edits blobs only, then drop everything old.
cd /srv/git/$PARAM_PROJECT
cat > /tmp/redact.py <<'PY'
import sys
secrets = [s.encode() for s in open("/srv/git/leaked.txt").read().splitlines() if s]
secrets.sort(key=len, reverse=True)
source, target, kind = sys.stdin.buffer, sys.stdout.buffer, b""
while line := source.readline():
    word = line.split(b" ", 1)[0].strip()
    if word in (b"blob", b"commit", b"tag", b"reset"):
        kind = word
    if word != b"data":
        target.write(line)
        continue
    data = source.read(int(line.split()[1]))
    if kind == b"blob":
        for secret in secrets:
            data = data.replace(secret, b"REDACTED")
    target.write(b"data %d\n%s" % (len(data), data))
PY
git fast-export --all --signed-tags=verbatim --reencode=no |
  python3 /tmp/redact.py | git fast-import --quiet --force
rm /tmp/redact.py
git reset -q --hard
rm -f .git/ORIG_HEAD .git/FETCH_HEAD .git/objects/pack/*.keep
git reflog expire --expire=now --expire-unreachable=now --all
git -c pack.threads=1 gc -q --prune=now
for object in $(git cat-file --batch-all-objects --batch-check='%(objectname)'); do
  if git cat-file -p "$object" | grep -qaFf /srv/git/leaked.txt; then echo "still there: $object"; fi
done
git status --short --branch
