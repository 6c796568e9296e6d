cd /srv/inventory
rm -f .git/index .git/index.lock .git/refs/heads/main .git/refs/heads/feature/batch-import
rm -f .git/logs/HEAD .git/logs/refs/heads/main
find .git/objects -type f -empty -delete
git bundle unbundle /srv/backup/inventory-2026-02-24.bundle > /dev/null
find . -path ./.git -prune -o -type f -print0 | xargs -0 git hash-object -w -- > /dev/null

# tip SUBJECT PATH: the commit nothing leads to that has this subject and touches this path
tip() {
  git fsck --lost-found 2> /dev/null | awk '$2 == "commit" { print $3 }' | while read -r commit; do
    [ "$(git log -1 --format=%s "$commit")" = "$1" ] &&
      git show --name-only --format= "$commit" | grep -qx "$2" && echo "$commit"
  done
}
main=$(tip "report: round totals half to even" inventory/report.py)
feature=$(tip "batch import: reject unknown currency codes" tests/test_importer.py)
git update-ref refs/heads/main "$main"
git update-ref refs/heads/feature/batch-import "$feature"
git read-tree "$main"
git fsck 2> /dev/null | awk '$1 == "dangling" && $2 == "blob" { print $3 }' | while read -r blob; do
  [ "$(git cat-file -p "$blob" | grep -c '^def test_')" = 6 ] && git cat-file -p "$blob" > tests/test_rounding.py
done
git add tests/test_rounding.py
git fsck --full --no-dangling
git status --short
