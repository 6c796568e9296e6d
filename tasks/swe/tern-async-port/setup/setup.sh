#!/bin/bash
# The repository as the agent finds it: one commit, no reflog, nothing of its future.
set -euo pipefail
umask 022
cp -r "$AGENTGYM_SETUP/repo" /srv/tern
cd /srv/tern
export GIT_AUTHOR_DATE="2026-03-18T09:00:00Z" GIT_COMMITTER_DATE="2026-03-18T09:00:00Z"
git -c init.defaultBranch=main init -q --template=
git config core.logAllRefUpdates false
git add -A -f
git commit -q -m "tern 1.5.0"
# An index without times and inodes is the same in every setup.
rm -f .git/index .git/COMMIT_EDITMSG
git read-tree HEAD
