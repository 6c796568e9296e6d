mkdir -p "$HOME"/{red,green,blue,amber,violet}/{red,green,blue,amber,violet}
