# Must score 0: files without a byte in place of every result that the instruction names.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r path; do
  [ -n "$path" ] && [ ! -d "$path" ] || continue
  mkdir -p "$(dirname "$path")" && rm -f "$path" && : > "$path"
done <<< "$PARAM_TASK_PATHS"
true
