"""One plugin a file; `registry` lists them in the order in which they are asked."""
