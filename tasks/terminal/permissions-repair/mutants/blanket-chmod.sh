# Must not pass: the same modes for everything below a folder; keys readable, programs dead, nothing handed down.
cat > /usr/local/sbin/fix-share <<SCRIPT
#!/bin/bash
cd /srv/$PARAM_SHARE
chmod 755 . teams; chmod 644 POLICY.md
chmod -R u=rwX,g=rwX,o= teams/*
chmod -R u=rwX,g=rX,o=rX public
chmod -R a-w archive
chmod 1777 $PARAM_INBOX
SCRIPT
chmod 755 /usr/local/sbin/fix-share
/usr/local/sbin/fix-share
