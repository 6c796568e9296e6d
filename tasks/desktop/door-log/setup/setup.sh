# The logs, a terminal, and the note in the editor.
python3 "$AGENTGYM_SETUP/make.py"
mkdir -p /home/user/.config/desktop
printf 'mousepad /home/user/incident.txt\nxfce4-terminal --working-directory=/home/user\n' > /home/user/.config/desktop/session
chown -R user:user /home/user
