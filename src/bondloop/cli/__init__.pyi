from bondloop.cli.main import app as app
