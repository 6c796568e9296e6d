# Inflates without looking at the CRC and pads unreadable parts with zeros: tar then happily
# restores files with wrong bytes and holes, and resynchronises inside a nested archive.
cd /srv/restore && mkdir -p recovered
python3 - $PARAM_SERVICE-$PARAM_DATE.tar.gz <<'PY' | tar -x -i -C recovered 2>/dev/null
import re, sys, zlib
raw = open(sys.argv[1], "rb").read()
for at in [m.start() for m in re.finditer(b"\x1f\x8b\x08\x00\x00\x00\x00\x00", raw)]:
    try:
        plain = zlib.decompressobj(-15).decompress(raw[at + 10 :], 65536)
    except zlib.error:
        plain = b""
    sys.stdout.buffer.write(plain.ljust(65536, b"\0"))
PY
awk '/^-/ { print $6 }' $PARAM_SERVICE-$PARAM_DATE.list | while read -r path; do
  [ -f "recovered/$path" ] || echo "$path"
done > lost.txt
