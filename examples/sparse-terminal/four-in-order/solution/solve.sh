printf "%s\n" "$PARAM_FIRST" "$PARAM_SECOND" "$PARAM_THIRD" "$PARAM_FOURTH" >> "$HOME/order"
