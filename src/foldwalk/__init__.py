"""foldwalk: image search that walks the manifold."""

import os

# Compiled loops and matrix products take turns here. Threads that spin while the other kind works slow both
# down, by half and more on few cores; a setting of the user's own is left alone.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

__version__ = "0.1.0"
