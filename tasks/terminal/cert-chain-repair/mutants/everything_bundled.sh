# Finds the right certificate and appends every CA of the pile. A client may find its way through,
# but the bundle carries expired, cross-signed and re-keyed CAs and a root.
host=$PARAM_SERVICE.$PARAM_DOMAIN; cd /srv/tls/$PARAM_SERVICE
key=$(openssl pkey -in privkey.pem -pubout); : > cas; : > leaf
for file in ../pki/*; do
  case $file in *.cer) form=DER ;; *) form=PEM ;; esac
  openssl x509 -inform $form -in "$file" -out one
  text=$(openssl x509 -in one -noout -text)
  case $text in *CA:TRUE*) cat one >> cas ;; esac
  case $text in *"TLS Web Server"*) ;; *) continue ;; esac
  [ "$(openssl x509 -in one -noout -pubkey)" = "$key" ] || continue
  openssl x509 -in one -noout -checkend 0 > /dev/null || continue
  openssl x509 -in one -noout -checkhost "$host" | grep -q "does match" && cp one leaf
done
cat leaf cas > fullchain.pem; rm one leaf cas
chmod 600 privkey.pem; (umask 077; cat fullchain.pem privkey.pem > haproxy.pem)
