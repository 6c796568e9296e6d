# Globs instead of ls, quotes everywhere, ./ before names, and printf for what is written.
cat > /srv/intake/bin/file-drop <<'SCRIPT'
#!/bin/bash
# file-drop DROP ARCHIVE: sort dropped files by customer and year, see README.md.
export LC_ALL=C TZ=UTC
[ $# -eq 2 ] && [ -d "$1" ] && [ -d "$2" ] || exit 1
drop=$(cd -- "$1" && pwd -P && printf .) || exit 1
archive=$(cd -- "$2" && pwd -P && printf .) || exit 1
drop=${drop%$'\n.'} archive=${archive%$'\n.'}
shopt -s nullglob

escaped() {
  local text=${1//\\/\\\\}
  text=${text//$'\t'/\\t}
  printf '%s' "${text//$'\n'/\\n}"
}

moved=0 left=0
for path in "$drop"/*; do
  [ -f "$path" ] && [ ! -L "$path" ] || continue
  file=${path##*/}
  customer=${file%%_*}
  if [[ $file != *_* || ! $customer =~ ^[A-Za-z0-9-]+$ ]]; then
    printf 'left: %s\n' "$file" >&2
    left=$((left + 1))
    continue
  fi
  folder=$customer/$(date -r "$path" +%Y)
  mkdir -p -- "$archive/$folder"
  name=$file n=0
  while [ -e "$archive/$folder/$name" ] || [ -L "$archive/$folder/$name" ]; do
    n=$((n + 1))
    case $file in
      *.*) name=${file%.*}-$n.${file##*.} ;;
      *) name=$file-$n ;;
    esac
  done
  mv -n -- "$path" "$archive/$folder/$name" || continue
  printf '%s\t%s\n' "$(escaped "$file")" "$(escaped "$folder/$name")" >> "$archive/log.tsv"
  moved=$((moved + 1))
done
echo "$moved moved, $left left"
SCRIPT
