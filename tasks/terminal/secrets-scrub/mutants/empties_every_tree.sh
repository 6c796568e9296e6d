# Must not pass, and is worth nothing: every commit is still there, with no file in it.
cd /srv/git/$PARAM_PROJECT
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter 'git read-tree --empty' --tag-name-filter cat -- --all > /dev/null 2>&1
git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin
rm -f .git/objects/pack/*.keep
rm -rf .git/logs
git reflog expire --expire=now --all && git gc -q --prune=now
