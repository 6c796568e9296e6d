raise ImportError("the whole package was imported, with every model client it knows")
