"""``python -m foldwalk`` is the command ``foldwalk``."""

from foldwalk.cli.main import run

# The guard matters: processes that measure a method import this module again under another name.
if __name__ == "__main__":
    run()
