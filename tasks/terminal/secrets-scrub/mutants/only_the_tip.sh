# Redacts the files of main and commits that: the history still has everything.
cd /srv/git/$PARAM_PROJECT
git ls-files -s | awk '$1 != 120000 { print $4 }' | while read -r file; do
  python3 - "$file" <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
for secret in open("/srv/git/leaked.txt", "rb").read().split():
    data = data.replace(secret, b"REDACTED")
open(sys.argv[1], "wb").write(data)
PY
done
git commit -qam "Remove secrets"
