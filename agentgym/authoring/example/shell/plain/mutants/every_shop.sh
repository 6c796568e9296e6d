# Must not pass: adds up every shop.
awk -F, 'NR > 1 { total += $3 } END { print total }' /srv/shop/sales.csv > /root/total.txt
awk 'END { print NR - 1 }' /srv/shop/sales.csv > /root/count.txt
