# Must score 0: links to a file without an end in place of every result that the instruction names.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r path; do
  [ -n "$path" ] && [ ! -d "$path" ] || continue
  mkdir -p "$(dirname "$path")" && rm -f "$path" && ln -s /dev/zero "$path"
done <<< "$PARAM_TASK_PATHS"
true
