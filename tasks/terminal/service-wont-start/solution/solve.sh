cd /srv/linkd
sed -i 's/\r$//' etc/environment
sed -i 's#^database = .*#database = /srv/linkd/data/links.db#' etc/linkd.conf
rm -f etc/conf.d/90-container.conf run/linkd.pid data/linkd.lock
mkdir -p /var/log/linkd
bin/linkd-migrate data/links.db
./service start
./service status
