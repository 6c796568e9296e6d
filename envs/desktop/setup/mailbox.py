"""A local mailbox that Claws Mail opens without questions; equal arguments give equal bytes."""

import datetime
import email.policy
from email.message import EmailMessage
from email.utils import format_datetime

from documents import HOME

OWNER = ("Office", "office@fairlead.example")
_ACCOUNT = """[Account: 1]
account_name=Office
is_default=1
name={name}
address={address}
organization=Fairlead Software
protocol=0
receive_server=mail.invalid
smtp_server=mail.invalid
user_id=office
inbox=inbox
local_inbox=#mh/Mailbox/inbox
receive_at_get_all=0
"""
_COMMON = """[Common]
autochk_newmail=0
check_on_startup=0
chk_newmail_on_startup=0
open_inbox_on_startup=1
startup_online=0
warn_dnd=0
show_mark_all_read=0
mainwin_width=1240
mainwin_height=720
mainwin_x=10
mainwin_y=10
folderview_width=180
summaryview_height=385
summary_col_size_subject=280
summary_col_size_from=180
summary_col_size_date=150
folder_col_pos_folder=0
summary_col_show_size=1
show_tooltips=0
enable_swap_from=0
enable_aspell=0
autosave=0
compose_width=900
compose_height=680
compose_x=180
compose_y=40
compose_notebook_height=190
"""
_FOLDERS = """<?xml version="1.0" encoding="UTF-8"?>
<folderlist>
    <folder type="mh" name="Mailbox" path="Mail" collapsed="0" sort="0">
        <folderitem type="inbox" name="inbox" path="inbox" mtime="0" new="0" unread="0" total="0" />
        <folderitem type="outbox" name="sent" path="sent" mtime="0" new="0" unread="0" total="0" />
        <folderitem type="draft" name="draft" path="draft" mtime="0" new="0" unread="0" total="0" />
        <folderitem type="queue" name="queue" path="queue" mtime="0" new="0" unread="0" total="0" />
        <folderitem type="trash" name="trash" path="trash" mtime="0" new="0" unread="0" total="0" />
    </folder>
</folderlist>
"""


def message(number, sender, subject, day, text, attachments=()):
    """Return a mail to the owner of the mailbox.

    Args:
        number: Number of the mail, which names it and the borders of its parts.
        sender: Name and address.
        subject: Subject.
        day: When it was sent, a `datetime.datetime`.
        text: Its text.
        attachments: Names and bytes of PDFs.
    """
    made = EmailMessage(policy=email.policy.SMTP.clone(linesep="\n"))
    made["From"] = "{} <{}>".format(*sender)
    made["To"] = "{} <{}>".format(*OWNER)
    made["Subject"] = subject
    made["Date"] = format_datetime(day.replace(tzinfo=datetime.UTC))
    made["Message-ID"] = f"<{number}.{day:%Y%m%d%H%M}@{sender[1].split('@')[1]}>"
    made.set_content(text)
    for name, data in attachments:
        made.add_attachment(data, maintype="application", subtype="pdf", filename=name)
    if attachments:
        made.set_boundary(f"=_part_{number:04d}")
    return made.as_bytes()


def set_up_mail(messages):
    """Make the mailbox, with messages in its inbox, and an account without a server."""
    settings, box = HOME / ".claws-mail", HOME / "Mail"
    settings.mkdir(parents=True)
    (settings / "accountrc").write_text(_ACCOUNT.format(name=OWNER[0], address=OWNER[1]))
    (settings / "clawsrc").write_text(_COMMON)
    (settings / "folderlist.xml").write_text(_FOLDERS)
    for name in ("inbox", "sent", "draft", "queue", "trash"):
        (box / name).mkdir(parents=True)
    for number, data in enumerate(messages, 1):
        (box / "inbox" / str(number)).write_bytes(data)
