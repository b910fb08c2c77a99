"""What a new part is made of, and that nothing else has to be touched for it."""
