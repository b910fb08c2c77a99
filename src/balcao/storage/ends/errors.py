"""What keeps data from being moved, on purpose."""


class MoveRefused(Exception):
    """It cannot be moved like this; nothing that serves was changed.

    The message is for the operator, in Portuguese: whole sentences, no row and no password in them.
    """
