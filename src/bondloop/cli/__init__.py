"""The command line: one file per verb, put together in `bondloop.cli.main`; a folder for those of a rig.

Nothing heavy is imported when the program starts; a verb imports what it needs when it runs.
"""
