# Must not pass, nor keep a check busy: thousands of files, and large holes in place of the members.
mkdir -p /srv/restore/recovered/x && cd /srv/restore/recovered
(cd x && seq 6000 | xargs touch)
awk '/^-/ { print $6 }' ../$PARAM_SERVICE-$PARAM_DATE.list | while read -r path; do
  mkdir -p "$(dirname "$path")"
  truncate -s 3M "$path"
done
: > ../lost.txt
