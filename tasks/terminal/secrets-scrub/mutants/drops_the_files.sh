# Takes the files that ever held a secret out of the whole history instead of redacting them.
cd /srv/git/$PARAM_PROJECT
FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --index-filter 'git rm -q --cached --ignore-unmatch \
  config/settings.yml deploy/compose.yml deploy/prod.env scripts/backup.sh scripts/deploy.ps1' \
  --tag-name-filter cat -- --all > /dev/null 2>&1
git for-each-ref --format='delete %(refname)' refs/original | git update-ref --stdin
rm -f .git/objects/pack/*.keep
git reflog expire --expire=now --all && git gc -q --prune=now
