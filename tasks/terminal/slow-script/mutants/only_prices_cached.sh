# Asks for each price once and leaves the rest: still several processes for every row.
python3 - <<'PY'
path = "/srv/billing/bin/invoice-totals"
text = open(path).read()
text = text.replace("rejected=0\n", "rejected=0\ndeclare -A cache\n", 1)
text = text.replace(
    '  if ! price=$(/srv/billing/bin/ratecard "$plan" "$region" 2> /dev/null); then',
    '  key="$plan $region"\n'
    '  [ -n "${cache[$key]:-}" ] || cache[$key]=$(/srv/billing/bin/ratecard $key 2> /dev/null || echo none)\n'
    '  price=${cache[$key]}\n'
    '  if [ "$price" = none ]; then',
)
open(path, "w").write(text)
PY
