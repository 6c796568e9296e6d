# Rewrites branches and tags with filter-branch and stops there: refs/original, the reflogs and the
# old objects still hold everything.
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
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --tree-filter "python3 /tmp/redact.py" --tag-name-filter cat -- --all > /dev/null 2>&1
rm /tmp/redact.py
