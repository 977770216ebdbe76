"""What each kind refuses, with upstream's field paths, reasons and words (step A7): pure functions to causes."""
