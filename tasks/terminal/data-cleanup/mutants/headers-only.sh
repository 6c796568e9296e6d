# Must not pass: three well-formed files without a single order.
cd /srv/clean
echo order_id,date,shop,email,amount_cents > orders.csv
echo order_id,shop,reason > rejected.csv
echo shop,month,orders,amount_cents > totals.csv
