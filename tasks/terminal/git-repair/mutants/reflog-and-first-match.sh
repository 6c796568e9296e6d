# Must not pass: main from the last readable reflog line is one commit short, and the branch tip is the one before the amend.
cd /srv/inventory
main=$(tr -d '\0' < .git/logs/refs/heads/main | tail -n 1 | cut -d' ' -f2)
rm -f .git/index .git/index.lock .git/refs/heads/main .git/refs/heads/feature/batch-import .git/logs/HEAD .git/logs/refs/heads/main
find .git/objects -type f -empty -delete
git bundle unbundle /srv/backup/*.bundle > /dev/null
find inventory docs tests -type f -print0 | xargs -0 git hash-object -w > /dev/null
git update-ref refs/heads/main "$main"
for commit in $(git fsck 2> /dev/null | awk '/dangling commit/ { print $3 }'); do
  case "$(git show --name-only --format=%s "$commit")" in
    *test_importer*) ;;
    "batch import"*) git update-ref refs/heads/feature/batch-import "$commit" ;;
  esac
done
git reset -q
for blob in $(git fsck 2> /dev/null | awk '/dangling blob/ { print $3 }'); do
  [ "$(git cat-file -p "$blob" | grep -c '^def test_')" = 6 ] && git cat-file -p "$blob" > tests/test_rounding.py
done
