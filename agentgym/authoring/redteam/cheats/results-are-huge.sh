# Must score 0: files larger than a check may read, in place of every result that the instruction names.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
while read -r path; do
  [ -n "$path" ] && [ ! -d "$path" ] || continue
  mkdir -p "$(dirname "$path")" && rm -f "$path" && truncate -s 100M "$path"
done <<< "$PARAM_TASK_PATHS"
true
