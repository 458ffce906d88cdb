"""The templates of the pages. Whatever is put into them is escaped, unless a template made it."""

from __future__ import annotations

import math
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Environment(
    loader=PackageLoader("foldwalk.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, **values: Any) -> Markup:
    """A file of templates/, filled in."""
    return Markup(_TEMPLATES.get_template(template).render(values))


def _cost(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.0f}"


_TEMPLATES.filters["cost"] = _cost
