# Must not pass: removes what git complains about; main and the branch fall back to outdated packed refs.
cd /srv/inventory
rm -f .git/index .git/index.lock .git/refs/heads/main .git/refs/heads/feature/batch-import .git/logs/HEAD .git/logs/refs/heads/main
find .git/objects -type f -empty -delete
git bundle unbundle /srv/backup/*.bundle > /dev/null
find inventory docs tests -type f -print0 | xargs -0 git hash-object -w > /dev/null
git reset -q
git cat-file -p $(git fsck 2> /dev/null | awk '/dangling blob/ { print $3; exit }') > tests/test_rounding.py
