"""Side-by-side measurements, one folder a subject; none is a test. `python -m benchmarks` lists them."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What measurements and tests share. The tests have it from pyproject.toml.
sys.path.insert(0, str(ROOT / "yardsticks"))
