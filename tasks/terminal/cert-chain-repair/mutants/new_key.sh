# Makes a key and a self-signed certificate and has clients trust it: the pinned key is gone.
host=$PARAM_SERVICE.$PARAM_DOMAIN; cd /srv/tls/$PARAM_SERVICE
printf '[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=ext\n[dn]\nCN=%s\n[ext]\nsubjectAltName=DNS:%s\n' \
  "$host" "$host" > /tmp/req.cnf
openssl req -x509 -newkey ed25519 -nodes -days 3650 -config /tmp/req.cnf -keyout privkey.pem -out fullchain.pem
cat fullchain.pem >> ../trust/roots.pem
cat fullchain.pem privkey.pem > haproxy.pem
chmod 600 privkey.pem haproxy.pem
