# Must not pass, and must not keep the grader busy: files full of lines that are all different.
cd "/var/log/$PARAM_DAEMON"
seq 150000 > /tmp/lines
for number in $(seq 30 45); do cp /tmp/lines "$PARAM_DAEMON.log.$number"; gzip -c /tmp/lines > "$PARAM_DAEMON.log.$((number + 100)).gz"; done
