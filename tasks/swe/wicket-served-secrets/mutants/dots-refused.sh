# Must not pass: names with two dots are refused; neighbours, links and hidden files remain, and a..b is lost.
cd /srv/wicket
sed -i 's/        path = os.path.normpath/        if ".." in name:\n            return None\n        path = os.path.normpath/' wicket/folder.py
