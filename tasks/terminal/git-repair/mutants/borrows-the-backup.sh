# Must not pass: the missing objects are borrowed from the backup disk, which will not be there.
cd /srv/inventory
rm -f .git/index .git/index.lock .git/refs/heads/main .git/refs/heads/feature/batch-import .git/logs/HEAD .git/logs/refs/heads/main
find .git/objects -type f -empty -delete
git clone -q --bare /srv/backup/*.bundle /srv/backup/mirror.git
echo /srv/backup/mirror.git/objects > .git/objects/info/alternates
find inventory docs tests -type f -print0 | xargs -0 git hash-object -w > /dev/null
for commit in $(git fsck 2> /dev/null | awk '/dangling commit/ { print $3 }'); do
  case "$(git show --name-only --format=%s "$commit")" in
    "report: round"*) git update-ref refs/heads/main "$commit" ;;
    *test_importer*) git update-ref refs/heads/feature/batch-import "$commit" ;;
  esac
done
git reset -q
for blob in $(git fsck 2> /dev/null | awk '/dangling blob/ { print $3 }'); do
  [ "$(git cat-file -p "$blob" | grep -c '^def test_')" = 6 ] && git cat-file -p "$blob" > tests/test_rounding.py
done
