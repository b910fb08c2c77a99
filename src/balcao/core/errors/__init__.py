"""Every error that the service raises on purpose, each with its wording (contract 3).

A class has status, code, message and all other texts about the error. What to do about a code, and
how to see it in the sandbox, is in `web/pages/docs/errors.toml`. There are no other places: tables
of errors are made from the classes. `balcao errors` prints the tree.

The order of the imports is the order of the tree: if errors share a code, `short`, `tone` and
`notice` of the code are those of the first one.
"""

from balcao.core.errors.access import *
from balcao.core.errors.base import *
from balcao.core.errors.batches import *
from balcao.core.errors.credits import *
from balcao.core.errors.lookups import *
from balcao.core.errors.office import *
from balcao.core.errors.requests import *
from balcao.core.errors.sources import *
from balcao.core.errors.system import *
from balcao.core.errors.wallet import *
from balcao.core.errors.webhooks import *
