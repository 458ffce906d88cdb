"""The HTTP service and its page: ``create_app(index, settings)``, ``serve(path, host, port)``."""

from foldwalk.core import MissingExtra

try:
    from foldwalk.service.app import create_app
    from foldwalk.service.run import serve
    from foldwalk.service.settings import ServiceSettings
except ModuleNotFoundError as missing:
    if missing.name in {"fastapi", "uvicorn", "starlette", "prometheus_client"}:
        raise MissingExtra(missing.name, "serve", "The service") from None
    raise

__all__ = ["ServiceSettings", "create_app", "serve"]
