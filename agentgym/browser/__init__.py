"""A confined Chromium that many episodes share: start, pool, network, pages, tree, actions.

Playwright drives it; the protocol it speaks is the Chrome DevTools Protocol over a pipe.
"""
