"""This library beside others: one module for each task, with our call and each peer's.

``benches/run`` runs them, ``benches/README.md`` says how to add a peer.
"""

from __future__ import annotations

#: The modules, in the order in which they run.
MODULES = ("contours", "labels", "regions", "measures", "distances", "routes", "batches")
