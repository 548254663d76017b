"""Makes docs/results.md and its plots from the results in docs/results: see ``benches/render``."""
