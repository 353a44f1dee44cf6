"""``python -m afa.cli`` is ``afa``."""

from afa.cli.main import main

main()
