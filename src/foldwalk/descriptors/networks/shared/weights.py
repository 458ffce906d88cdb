"""Names the weights of a module by their content."""

from __future__ import annotations

import hashlib

import numpy as np
from torch import nn


def weights_hash(module: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, values in sorted(module.state_dict().items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(values.detach().cpu().float().numpy()).data)
    return digest.hexdigest()[:16]
