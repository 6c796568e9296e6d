# The price lists, the browser, and the order in the editor.
python3 "$AGENTGYM_SETUP/make.py"
mkdir -p /home/user/.config/desktop
printf 'mousepad /home/user/order.txt\nfirefox-esr file:///home/user/Offers/index.html\n' > /home/user/.config/desktop/session
chown -R user:user /home/user
