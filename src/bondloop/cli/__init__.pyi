from bondloop.cli import laboratory as laboratory
from bondloop.cli.main import app as app
