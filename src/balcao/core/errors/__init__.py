"""Every error that the service raises on purpose, each with its wording (contract 3).

A class is a card: status, code, message and whatever else people read about the error. What to do
about a code, and how to see it in the sandbox, is in `web/pages/docs/errors.toml`. These two are
the only places: tables of errors are made from the classes. `balcao errors` prints the tree.

The order of the imports is the order of the tree: where errors share a code, the first one's
`short`, `tone` and `notice` stand for the code.
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
