"""What a new user does on the first day, each beside a few lines of plain Python that say what must come out."""
