# Must not pass: linkd runs, started by hand around the script, which still cannot start it after a reboot.
cd /srv/linkd
rm -f data/linkd.lock
bin/linkd-migrate data/links.db
mkdir /root/linkd
printf '[server]\nlisten = 127.0.0.1:8080\n[storage]\ndatabase = /srv/linkd/data/links.db\n' > /root/linkd/linkd.conf
setsid /srv/linkd/bin/linkd --config /root/linkd/linkd.conf > /root/linkd/log 2>&1 < /dev/null &
disown
until grep -q listening /root/linkd/log; do sleep 0.1; done
