# Must not pass: chmod on whatever a name leads to, so a file outside of the share loses its protection.
cat > /usr/local/sbin/fix-share <<SCRIPT
#!/bin/bash
cd /srv/$PARAM_SHARE
find teams/* ! -type d -exec chmod 660 {} +
find teams/* -type d -exec chmod 2770 {} + -exec setfacl -d -m g::rwx,o::- {} +
chmod 755 . teams; chmod 1777 $PARAM_INBOX
SCRIPT
chmod 755 /usr/local/sbin/fix-share
/usr/local/sbin/fix-share
