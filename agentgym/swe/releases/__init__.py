"""Tasks made of two consecutive source releases of a package; the code is downloaded at set-up."""
