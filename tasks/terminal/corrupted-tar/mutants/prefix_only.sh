# Takes what tar yields before it gives up and calls the rest lost: most intact files are missing.
cd /srv/restore && mkdir -p recovered
gzip -dc $PARAM_SERVICE-$PARAM_DATE.tar.gz 2>/dev/null | tar -x -C recovered 2>/dev/null
awk '/^-/ { print $6 }' $PARAM_SERVICE-$PARAM_DATE.list | while read -r path; do
  [ -f "recovered/$path" ] || echo "$path"
done > lost.txt
