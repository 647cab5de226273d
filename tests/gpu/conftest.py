from __future__ import annotations

import pytest

from tests.support.gpu_devices import GpuDevice, chosen


@pytest.fixture(scope="module", params=chosen(), ids=lambda device: device.name)
def device(request: pytest.FixtureRequest) -> GpuDevice:
    """Each device of the tests in turn."""
    found: GpuDevice = request.param
    return found
