"""Who may choose parameters freely: whoever shows the token, or everyone where that is set."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from foldwalk.service.routes.access import TheEngine
from foldwalk.service.visitors import is_same


def _chooses_freely(request: Request, engine: TheEngine) -> bool:
    token = engine.settings.token
    if token is None or engine.settings.free_parameters:
        return engine.settings.free_parameters
    shown = request.headers.get("authorization", "").partition(" ")[2]
    return is_same(shown, token)


ChoosesFreely = Annotated[bool, Depends(_chooses_freely)]
