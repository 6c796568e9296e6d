# Must not pass: every mode of the share is right, but without default ACLs a careful umask shuts the team out.
cat > /usr/local/sbin/fix-share <<SCRIPT
#!/usr/bin/python3
import os
share, inbox = "/srv/$PARAM_SHARE", "$PARAM_INBOX"
owner_only, everyone = "$PARAM_PUBLIC_CHANGED_BY" == "only the owner", "$PARAM_ARCHIVE_READ_BY" == "everyone"
rules = {"teams": (0o2770, 0o660, 0o770), inbox: (0o1777, 0o660, 0o660),
         "public": (0o2755, 0o644, 0o755) if owner_only else (0o2775, 0o664, 0o775),
         "archive": (0o555, 0o444, 0o555) if everyone else (0o550, 0o440, 0o550)}
for top, (folder_mode, file_mode, program_mode) in rules.items():
    for folder, _, names in os.walk(f"{share}/{top}"):
        os.chmod(folder, folder_mode)
        for path in (f"{folder}/{name}" for name in names):
            if not os.path.islink(path):
                data = open(path, "rb").read()
                key = any(l.startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in l for l in data.splitlines())
                os.chmod(path, 0o600 if key else program_mode if data.startswith(b"#!") else file_mode)
os.chmod(share, 0o755)
os.chmod(f"{share}/teams", 0o755)
os.chmod(f"{share}/POLICY.md", 0o644)
SCRIPT
chmod 755 /usr/local/sbin/fix-share
/usr/local/sbin/fix-share
