# The right bundle, but the file with the private key in it is left readable by everybody.
host=$PARAM_SERVICE.$PARAM_DOMAIN
cd /srv/tls
work=$(mktemp -d)
for file in pki/*; do
  case $file in
    *.cer) openssl x509 -inform DER -in "$file" ;;
    *) openssl x509 -in "$file" ;;
  esac > "$work/$(basename "${file%.*}").pem"
done
key=$(openssl pkey -in "$PARAM_SERVICE/privkey.pem" -pubout)
leaf=
for file in "$work"/*.pem; do
  [ "$(openssl x509 -in "$file" -noout -pubkey)" = "$key" ] || continue
  openssl x509 -in "$file" -noout -checkend 0 > /dev/null || continue
  openssl x509 -in "$file" -noout -checkhost "$host" | grep -q "does match" || continue
  openssl x509 -in "$file" -noout -purpose | grep -q "^SSL server : Yes" || continue
  leaf=$file
done
for issuing in "$work"/*.pem; do
  for policy in "$work"/*.pem; do
    [ "$issuing" != "$policy" ] || continue
    # With these two only, and in this order, is there a path to what the clients trust?
    openssl verify -no-CApath -partial_chain -trusted "$issuing" "$leaf" > /dev/null 2>&1 || break
    openssl verify -no-CApath -partial_chain -trusted "$policy" "$issuing" > /dev/null 2>&1 || continue
    openssl verify -no-CApath -CAfile trust/roots.pem "$policy" > /dev/null 2>&1 || continue
    cat "$leaf" "$issuing" "$policy" > "$PARAM_SERVICE/fullchain.pem"
  done
done
cd "$PARAM_SERVICE"
chmod 600 privkey.pem
cat fullchain.pem privkey.pem > haproxy.pem; chmod 644 haproxy.pem
rm -r "$work"
