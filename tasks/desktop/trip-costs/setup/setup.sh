# The sheet, open in LibreOffice Calc.
cd /home/user
mkdir -p .config/desktop
echo "libreoffice --calc /home/user/costs.xlsx" > .config/desktop/session
cp "$AGENTGYM_SETUP/costs.xlsx" costs.xlsx
chown -R user:user .config costs.xlsx
