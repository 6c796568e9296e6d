# Follows issuer names only and takes the oldest certificate of each name: expired, all three.
cd /srv/tls/$PARAM_SERVICE; work=$(mktemp -d)
for file in ../pki/*; do
  case $file in *.cer) form=DER ;; *) form=PEM ;; esac
  pem=$(openssl x509 -inform $form -in "$file")
  since=$(date -d "$(echo "$pem" | openssl x509 -noout -startdate | cut -d= -f2)" +%s)
  echo "$pem" > "$work/$since-$(basename "$file")"
done
want="CN = $PARAM_SERVICE.$PARAM_DOMAIN"; : > fullchain.pem
for depth in 1 2 3; do
  for file in "$work"/*; do
    subject=$(openssl x509 -in "$file" -noout -subject)
    case $subject in *"$want") cat "$file" >> fullchain.pem; break ;; esac
  done
  want=$(openssl x509 -in "$file" -noout -issuer | sed 's/.*CN = /CN = /')
done
rm -r "$work"; chmod 600 privkey.pem; (umask 077; cat fullchain.pem privkey.pem > haproxy.pem)
