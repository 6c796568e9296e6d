shop=north
grep ",$shop," /srv/shop/sales.csv | wc -l | tr -d ' ' > /root/count.txt
awk -F, -v shop="$shop" '$2 == shop { total += $3 } END { print total }' /srv/shop/sales.csv > /root/total.txt
