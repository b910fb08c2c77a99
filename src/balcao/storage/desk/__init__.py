"""What every engine says in the same SQL: deeds, people, what is read now and then."""
