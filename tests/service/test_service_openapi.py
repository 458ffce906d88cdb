"""Whatever fits the description, and much that does not, is answered without a fault of the service."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from service_samples import TOKEN

from foldwalk.service import ServiceSettings, create_app

CHECKS = [not_a_server_error, content_type_conformance, response_schema_conformance, status_code_conformance]


@pytest.fixture
def url(own_index: Path) -> Iterator[str]:
    """The application behind a real server, in a thread of this process."""
    app = create_app(own_index, ServiceSettings(token=TOKEN))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_every_operation_withstands_generated_requests(url: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{url}/api/openapi.json")
    seen = set()
    for found in schema.get_all_operations():
        operation = found.ok()
        asked = 0

        @settings(max_examples=10, deadline=None, derandomize=True, database=None,
                  suppress_health_check=list(HealthCheck))  # fmt: skip
        @given(case=operation.as_strategy(generation_mode=mode))
        def withstands(case: schemathesis.Case) -> None:
            nonlocal asked
            asked += 1
            case.call_and_validate(checks=CHECKS, headers={"Authorization": f"Bearer {TOKEN}"})

        try:
            withstands()
        except Exception as error:
            if (
                "Unsatisfiable" not in type(error).__name__
            ):  # an operation that takes nothing has no wrong input
                raise
        if asked:
            seen.add(operation.label)
    assert {"POST /api/search", "POST /api/explain", "POST /api/items", "DELETE /api/items"} <= seen
