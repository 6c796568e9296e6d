# Must not pass: everything committed is saved, but a hard reset threw the unfinished report away.
cd /srv/inventory
rm -f .git/index .git/index.lock .git/refs/heads/main .git/refs/heads/feature/batch-import .git/logs/HEAD .git/logs/refs/heads/main
find .git/objects -type f -empty -delete
git bundle unbundle /srv/backup/*.bundle > /dev/null
find inventory docs tests -type f -print0 | xargs -0 git hash-object -w > /dev/null
for commit in $(git fsck 2> /dev/null | awk '/dangling commit/ { print $3 }'); do
  case "$(git show --name-only --format=%s "$commit")" in
    "report: round"*) git update-ref refs/heads/main "$commit" ;;
    *test_importer*) git update-ref refs/heads/feature/batch-import "$commit" ;;
  esac
done
for blob in $(git fsck 2> /dev/null | awk '/dangling blob/ { print $3 }'); do
  [ "$(git cat-file -p "$blob" | grep -c '^def test_')" = 6 ] && found=$blob
done
git reset -q --hard
git cat-file -p "$found" > tests/test_rounding.py
