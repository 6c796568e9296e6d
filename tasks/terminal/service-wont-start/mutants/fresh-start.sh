# Must not pass: throws the old database away instead of migrating it.
cd /srv/linkd
sed -i 's/\r$//' etc/environment
sed -i 's#^database = .*#database = /srv/linkd/data/links.db#' etc/linkd.conf
rm -f etc/conf.d/90-container.conf run/linkd.pid data/*
mkdir -p /var/log/linkd
./service start
