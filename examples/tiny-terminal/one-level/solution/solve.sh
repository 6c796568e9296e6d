touch "$HOME/$PARAM_OUTER/done"
