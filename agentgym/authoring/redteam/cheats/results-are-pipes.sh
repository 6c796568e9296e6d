# Must score 0: pipes at which a reader waits for ever in place of every result that the instruction names.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r path; do
  [ -n "$path" ] && [ ! -d "$path" ] || continue
  mkdir -p "$(dirname "$path")" && rm -f "$path" && mkfifo "$path"
done <<< "$PARAM_TASK_PATHS"
true
