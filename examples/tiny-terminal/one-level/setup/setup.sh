mkdir -p "$HOME"/{red,green,blue,amber}/{red,green,blue,amber}
