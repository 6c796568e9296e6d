# Prunes commits that become empty: the rotation of the token is gone from the history.
cd /srv/git/$PARAM_PROJECT
cat > /tmp/redact.py <<'PY'
import subprocess
secrets = open("/srv/git/leaked.txt", "rb").read().split()
for line in subprocess.run(["git", "ls-files", "-sz"], capture_output=True).stdout.split(b"\0"):
    if line and not line.startswith(b"120000"):
        path = line.split(b"\t", 1)[1]
        data = old = open(path, "rb").read()
        for secret in secrets:
            data = data.replace(secret, b"REDACTED")
        if data != old:
            open(path, "wb").write(data)
PY
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --tree-filter "python3 /tmp/redact.py" --prune-empty --tag-name-filter cat -- --all > /dev/null 2>&1
rm /tmp/redact.py
git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin
rm -f .git/objects/pack/*.keep
git reflog expire --expire=now --all && git gc -q --prune=now
