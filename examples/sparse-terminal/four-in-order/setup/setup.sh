: > "$HOME/order"
