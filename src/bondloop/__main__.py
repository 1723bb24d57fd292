"""``python -m bondloop`` is the command ``bondloop``."""

from bondloop.cli import app

if __name__ == "__main__":
    app(prog_name="bondloop")
