#!/bin/bash
# Install linkd as it was left on Friday: copied out of its container, upgraded, and never started since.
set -eu
umask 022
cd "$AGENTGYM_SETUP/linkd"
home=/srv/linkd

install -D -m 755 -t $home/bin linkd linkd-migrate
install -D -m 755 service $home/service
install -D -m 644 CHANGES README -t $home
install -D -m 644 linkd.conf -t $home/etc
install -D -m 644 90-container.conf 10-limits.conf -t $home/etc/conf.d
install -D -m 644 proxy.conf /etc/nginx/sites-enabled/go.conf
sed 's/$/\r/' environment > $home/etc/environment

mkdir -p $home/data $home/run
ln -s /var/log/linkd $home/log
echo 8213 > $home/run/linkd.pid
echo "host=links-7d9f pid=1 since=2026-03-06T17:42:10Z" > $home/data/linkd.lock
/usr/bin/python3 "$AGENTGYM_SETUP/make_links.py" $home/data/links.db
find $home /etc/nginx -exec touch -h -d '2026-03-06 17:55:00 UTC' {} +
