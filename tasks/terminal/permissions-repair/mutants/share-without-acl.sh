# Must not pass: the script is right, but after its run the share itself loses what its folders hand down.
share=/srv/$PARAM_SHARE inbox=$PARAM_INBOX
if [ "$PARAM_PUBLIC_CHANGED_BY" = "only the owner" ]; then
  public_dir=2755 public_file=0644 public_program=0755 public_acl=u::rwx,g::rx,o::rx
else
  public_dir=2775 public_file=0664 public_program=0775 public_acl=u::rwx,g::rwx,o::rx
fi
if [ "$PARAM_ARCHIVE_READ_BY" = everyone ]; then
  archive_dir=0555 archive_file=0444
else
  archive_dir=0550 archive_file=0440
fi
cat > /usr/local/sbin/fix-share <<SCRIPT
#!/bin/bash
set -eu
cd $share
export LC_ALL=C

# tree FOLDER DIRECTORIES FILES PROGRAMS [DEFAULT-ACL]
tree() {
  find "\$1" -type d -exec chmod "\$2" {} +
  find "\$1" -type f -exec chmod "\$3" {} +
  find "\$1" -type f -exec sh -c 'for f; do [ "\$(head -c 2 "\$f" | tr -d "\\0")" = "#!" ] && printf "%s\\0" "\$f"; done; true' - {} + |
    xargs -0 -r chmod "\$4"
  if [ -n "\${5-}" ]; then find "\$1" -type d -exec setfacl -d -m "\$5" {} +; fi
}

chmod 0755 . teams
chmod 0644 POLICY.md
for team in teams/*/; do tree "\$team" 2770 0660 0770 u::rwx,g::rwx,o::-; done
tree public $public_dir $public_file $public_program $public_acl
tree $inbox 1777 0660 0660
tree archive $archive_dir $archive_file $archive_dir
grep -rlZ -e '^-----BEGIN .*PRIVATE KEY-----' . | xargs -0 -r chmod 0600
SCRIPT
chmod 755 /usr/local/sbin/fix-share
/usr/local/sbin/fix-share
setfacl -R -k $share
