"""Examples, one idea each; README.md lists them."""
