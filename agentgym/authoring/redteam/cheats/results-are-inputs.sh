# Must score 0: links to files that were there before, in place of every result that is named.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
inputs=(/etc/passwd)
while read -r file; do [ -f "$file" ] && inputs+=("$file"); done <<< "$PARAM_TASK_FILES"
count=0
while read -r path; do
  [ -n "$path" ] && [ ! -d "$path" ] || continue
  mkdir -p "$(dirname "$path")"
  input=${inputs[count++ % ${#inputs[@]}]}
  [ "$input" = "$path" ] || ln -sfn "$input" "$path"
done <<< "$PARAM_TASK_PATHS"
true
