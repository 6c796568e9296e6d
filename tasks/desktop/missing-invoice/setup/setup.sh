# Invoices of others only, and a terminal.
mkdir -p /home/user/.config/desktop /home/user/Invoices/{January,February,March}
echo "xfce4-terminal --working-directory=/home/user" > /home/user/.config/desktop/session
cd /home/user/Invoices
printf 'Invoice of %s\nTotal: 412.50\n' "$PARAM_NEAR" > "January/$PARAM_NEAR.txt"
printf 'Invoice of Fenwick\nTotal: 98.10\n' > January/Fenwick.txt
printf 'Invoice of Greaves\nTotal: 733.00\n' > February/Greaves.txt
printf 'Invoice of Holloway\nTotal: 51.75\n' > March/Holloway.txt
chown -R user:user /home/user/.config /home/user/Invoices
