# Must not pass: private keys that are not there cannot be wrong.
cd /srv/$PARAM_SHARE
grep -rlZ 'PRIVATE KEY-----' . | xargs -0 rm -f
find teams/* -type d -exec chmod 2770 {} + -o -type f -exec chmod 660 {} +
chmod 755 . teams; chmod 644 POLICY.md; chmod 1777 $PARAM_INBOX
printf '#!/bin/bash\ncd /srv/%s && chmod -R 2770 teams\n' "$PARAM_SHARE" > /usr/local/sbin/fix-share
chmod 755 /usr/local/sbin/fix-share
