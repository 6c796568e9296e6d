# The list, open in the editor.
cd /home/user
mkdir -p .config/desktop
echo "mousepad /home/user/packing.txt" > .config/desktop/session
cat > packing.txt <<END
Packing list

Tent
$PARAM_WRONG
Rope, 20 m
Spare batteries ($PARAM_WRONG)
Map
END
chown -R user:user .config packing.txt
