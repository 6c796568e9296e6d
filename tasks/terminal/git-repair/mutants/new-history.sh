# Must not pass: a fresh repository with today's files in one commit; fsck is happy, the history is not there.
cd /srv/inventory
rm -rf .git
git init -q -b main
git -c user.name=Lin -c user.email=lin.okafor@depot.example commit -q --allow-empty -m "report: round totals half to even"
git add . && git -c user.name=Lin -c user.email=lin.okafor@depot.example commit -q -m "batch import: reject unknown currency codes"
git branch feature/batch-import
