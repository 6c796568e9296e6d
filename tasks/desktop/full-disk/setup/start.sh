#!/bin/sh
# Starts the programs of all units that are enabled; the desktop does this when it starts.
cd "$(dirname "$0")" || exit 1
unit=
while read -r name sign value; do
    case "$name $sign" in
    "[unit "*) unit=${sign%]} ;;
    "enabled =")
        if [ "$value" = yes ]; then
            setsid /usr/bin/python3 "$PWD/collect.py" "$unit" </dev/null >/dev/null 2>&1 &
        fi
        ;;
    "export =")
        if [ "$value" = yes ]; then
            setsid /usr/bin/python3 "$PWD/export.py" "$unit" </dev/null >/dev/null 2>&1 &
        fi
        ;;
    esac
done <units.ini
