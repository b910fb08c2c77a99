"""
Everything that may go wrong, on purpose:

BalcaoError
├── CallerError                    this request cannot succeed as it was sent; nothing is charged
│   ├── KeyRefused                 missing, unknown, revoked or expired
│   ├── AddressNotAllowed          the key may not be used from where the request came
│   ├── OperationNotAllowed        the key may not ask this operation
│   ├── RateLimited                wait, then send it again
│   ├── UnreadFilesCrowded         the account's last files are still to be read
│   ├── OpenBatchesCrowded         the account has as many open batches as its plan may have
│   ├── FileSpaceUsed              the account keeps as much as its plan may keep
│   ├── CertificatesNotEnabled     the account's plan does not include the certificates
│   ├── OptInNotEnabled            the account may not see partners' documents
│   ├── PeopleNotEnabled           the account may not search natural persons
│   ├── CursorOfAnotherMonth       a search begun in a month that is no longer in use
│   ├── InvalidInput
│   │   ├── InvalidCnpj
│   │   ├── InvalidCpf
│   │   ├── InvalidParameter
│   │   ├── RepeatedParameter
│   │   ├── InvalidStrategy
│   │   ├── InvalidUf
│   │   ├── UfRequired             no UF was given, and none can be found out
│   │   ├── DocumentRequired
│   │   ├── DocumentsConflict
│   │   ├── BirthDateRequired
│   │   ├── InvalidBirthDate
│   │   ├── BirthDateInFuture
│   │   ├── ParametersConflict
│   │   ├── FileUnreadable         a file with rows to be asked, that cannot be read as one
│   │   ├── InvalidBody            no JSON, where JSON is wanted
│   │   ├── ClientRequired         the key wants to be told whom a lookup is for
│   │   ├── MarkWithCpf            a mark is no place for a person
│   │   ├── FilterRequired         a search for everything
│   │   ├── InvalidIdempotencyKey
│   │   └── IdempotencyKeyReused   same key, another request
│   ├── NothingInCache             the caller wants nothing but the cache, and it has nothing
│   ├── StillRunning               same idempotency key, the first execution is not over
│   ├── ResultUnavailable          same idempotency key, its result died with its process
│   ├── ResultExpired              same idempotency key, the certificate has expired meanwhile
│   ├── ResultErased               same idempotency key, its result was erased for the person's sake
│   ├── InsufficientCredits
│   ├── CeilingOfRequest           it would cost more than the caller allows it to
│   ├── CeilingReached             a budget does not cover it
│   │   ├── CeilingOfKey
│   │   ├── CeilingOfBatch
│   │   ├── CeilingOfWallet
│   │   └── CeilingOfClient
│   ├── NotAdministering           a key that may not see or change what is the whole account's
│   ├── BudgetsCrowded             this owner has as many budgets for it as can be
│   ├── BudgetOfItsOwner           it is made and ended together with its batch, wallet or face key
│   ├── NotFound
│   │   ├── CnpjNotFound           a source that can prove absence says so
│   │   ├── RegistrationNotFound   Suframa does not know the company
│   │   ├── ReceiptNotFound        unknown, or another account's
│   │   ├── OperationNotFound      unknown, or another account's
│   │   ├── BatchNotFound          unknown, or another account's
│   │   ├── BudgetNotFound         unknown, ended, another account's, or not for this key
│   │   └── RouteNotFound
│   ├── BatchStateRefused      a batch is in a state in which this cannot be
│   ├── QuoteChanged           what is confirmed is not what it would cost now
│   ├── BatchErased            the batch's data are gone
│   ├── MethodNotAllowed
│   ├── RequestTooLarge
│   ├── UnsupportedMediaType       a body of a type that the address does not take
│   └── InvalidRequest             no HTTP/1.1, or not all of it
├── SourceError                    an upstream let us down; nothing is charged
│   ├── SourceUnavailable          down, in maintenance, circuit open
│   │   └── NotServed              no source is configured that takes such a question
│   ├── SourceFailed               it was asked, and it failed or answered nonsense
│   └── OriginRefused              the source is well and refuses the question: nobody else is asked
│       ├── DataRefused            the birth date is not that of the CPF
│       └── NewIssueRefused        no new certificate is issued: one may be in force
├── CertificateFailed              a source of certificates was asked and failed (400, not 500)
├── StorageFailed                  our own storage cannot write; nothing was kept or charged
│   └── CommitUncertain            the database went away in a commit: it may have been charged
├── StorageNewer                   told to the operator only: a newer version wrote this file
├── StorageUnreleased              told to the operator only: written before the first release
├── StorageMoved                   told to the operator only: the data were moved elsewhere
├── StorageIncomplete              told to the operator only: data that are being moved here
├── PepperDiffers                  told to the operator only: other keys' secret than the database's
├── SearchUnavailable              the month in use has no search index
├── FileRunning                    the account's last file is still being written or downloaded
├── NoFileSpace                    no room for files: of all accounts, or on the disk
├── Overloaded                     we shed load
├── ClockOff                       this node's clock is not the database's: send nothing here
├── NameTaken                      told to the operator only
├── EmailTaken                     told in the office only: somebody has this e-mail address
├── FormDone                       told in the office only: this very form was carried out before
├── TermsRefused                   told to the operator only: what an account owes forbids it
├── LastOperator                   told to the operator only: nobody would be left
├── HomeInUse                      told to the operator only
├── HomeDamaged                    told to the operator only
└── ProviderUnusable               told to the operator only: such as our own certificate

Anything else that is raised is a bug, and its text never leaves the building. How each looks
from outside is one table: `balcao.core.problems`.
"""


class BalcaoError(Exception):
    """The root of the tree.

    `detail` is for the caller, in Portuguese, where `core.problems` hands it on (parameters);
    otherwise for the operator and the log. It never holds personal data.
    """

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail)
        self.detail = detail


class CallerError(BalcaoError):
    """This request cannot succeed as it was sent."""


class KeyRefused(CallerError):
    """The API key is missing, unknown, revoked or expired (401)."""


class AddressNotAllowed(CallerError):
    """The key may not be used from this address; empty: nobody knows it (403; decisions 11.3)."""

    def __init__(self, address: str = "") -> None:
        super().__init__()
        self.address = address


class OperationNotAllowed(CallerError):
    """The key may not ask this operation (403; decisions 11.3)."""


class RateLimited(CallerError):
    """A limit of the account or key was reached. `retry_in_seconds` is truthful (429)."""

    def __init__(self, retry_in_seconds: int, window: str) -> None:
        super().__init__(window)
        self.retry_in_seconds = retry_in_seconds
        self.window = window


class UnreadFilesCrowded(CallerError):
    """So many files of this account wait to be read that no other is taken now (429)."""


class OpenBatchesCrowded(CallerError):
    """The account has as many open batches as its plan may have (409)."""


class FileSpaceUsed(CallerError):
    """The account's files and rows take all the room that its plan has (409)."""

    def __init__(self, kept_bytes: int = 0, kept_bytes_max: int = 0) -> None:
        super().__init__()
        self.kept_bytes = kept_bytes
        self.kept_bytes_max = kept_bytes_max


class CertificatesNotEnabled(CallerError):
    """The account's plan does not include the certificates (403)."""


class InvalidInput(CallerError):
    """Something in the request does not fit the contract (400)."""


class InvalidCnpj(InvalidInput):
    """Not a CNPJ: malformed, incomplete, or its check digits do not match."""


class InvalidCpf(InvalidInput):
    """Not a CPF."""


class InvalidParameter(InvalidInput):
    """A parameter's value does not fit (decisions 2.4, 2.6, 2.7)."""


class RepeatedParameter(InvalidInput):
    """A parameter of the contract was given twice (decisions 2.6)."""


class InvalidStrategy(InvalidInput):
    """Not a cache strategy of this operation (decisions 2.5)."""


class InvalidUf(InvalidInput):
    """Not a UF of this operation (decisions 2.3)."""


class UfRequired(InvalidInput):
    """No UF was given, and the company's own is not known (decisions 2.3)."""


class DocumentRequired(InvalidInput):
    """Neither CNPJ nor CPF (decisions 2.8)."""


class DocumentsConflict(InvalidInput):
    """CNPJ together with CPF or birth date (decisions 2.8)."""


class BirthDateRequired(InvalidInput):
    """CPF without birth date (decisions 2.8)."""


class InvalidBirthDate(InvalidInput):
    """Malformed or impossible (decisions 2.8)."""


class BirthDateInFuture(InvalidInput):
    """Later than today in Brasília (decisions 2.8)."""


class ParametersConflict(InvalidInput):
    """Parameters that exclude each other (decisions 2.8)."""


class FileUnreadable(InvalidInput):
    """No table can be read of this file (400).

    `detail` tells the caller which line or column and what to do, and nothing of what a cell
    holds; `code` tells programs; `line` as the file counts, None: it is about the whole.
    """

    def __init__(self, code: str = "", detail: str = "", line: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.line = line


class InvalidBody(InvalidInput):
    """A body that cannot be read as JSON."""


class ClientRequired(InvalidInput):
    """A lookup through this key must have `X-Cliente` (decisions 11.3)."""


class MarkWithCpf(InvalidInput):
    """A mark or a name has a valid CPF in it, which is never kept for ever (decisions 11.1).

    `detail`: which name, in words for the caller; empty: it is a mark.
    """


class FilterRequired(InvalidInput):
    """A search without a filter (decisions 14.1)."""


class InvalidIdempotencyKey(InvalidInput):
    """Not 8 to 128 visible ASCII characters (decisions 2.9)."""


class IdempotencyKeyReused(InvalidInput):
    """The key was used for another operation or other parameters (decisions 3)."""


class NothingInCache(CallerError):
    """`SO_CACHE` without a usable entry (400)."""


class OptInNotEnabled(CallerError):
    """The account may not ask for partners' documents (403)."""


class PeopleNotEnabled(CallerError):
    """The account may not search natural persons (403; decisions 14.4).

    `detail`: the parameter that needs it, as it is sent.
    """


class CursorOfAnotherMonth(CallerError):
    """The search was begun in a month that is no longer in use (410; decisions 14.3)."""


class StillRunning(CallerError):
    """The first execution under this key is not over (409)."""

    def __init__(self, retry_in_seconds: int) -> None:
        super().__init__()
        self.retry_in_seconds = retry_in_seconds


class ResultUnavailable(CallerError):
    """The first execution under this key died, or its result was purged (409)."""


class ResultExpired(CallerError):
    """What was recorded under this key is a certificate that is no longer valid (409)."""


class ResultErased(CallerError):
    """What was recorded under this key was about a person whose data was erased since (409)."""


class InsufficientCredits(CallerError):
    """The available balance does not cover the path needed (402)."""

    def __init__(self, needed_credits: int, available_credits: int) -> None:
        super().__init__()
        self.needed_credits = needed_credits
        self.available_credits = available_credits


class CeilingOfRequest(CallerError):
    """It would cost more than `X-Creditos-Maximos` allows it to (402; decisions 10.2)."""

    def __init__(self, needed_credits: int, ceiling_credits: int) -> None:
        super().__init__()
        self.needed_credits = needed_credits
        self.ceiling_credits = ceiling_credits


class CeilingReached(CallerError):
    """A budget does not cover it (402; decisions 12.3). `back`: when it begins anew, ISO 8601.

    Credits, or operations where the budget counts these; then `held` is 0.
    """

    def __init__(
        self,
        ceiling: int = 0,
        used: int = 0,
        held: int = 0,
        needed: int = 1,
        back: str | None = None,
    ) -> None:
        super().__init__()
        self.ceiling = ceiling
        self.used = used
        self.held = held
        self.needed = needed
        self.back = back


class CeilingOfKey(CeilingReached):
    """One of the key's."""


class CeilingOfBatch(CeilingReached):
    """That of the batch."""


class CeilingOfWallet(CeilingReached):
    """That of the wallet."""


class CeilingOfClient(CeilingReached):
    """That of the end client."""


class NotAdministering(CallerError):
    """The key may not change what is the whole account's (403; decisions 12.2)."""


class BudgetsCrowded(CallerError):
    """One more budget of this owner would be too many for an operation (409; decisions 12.1)."""


class BudgetOfItsOwner(CallerError):
    """A batch's or wallet's budget ends with it, and no sooner (409; decisions 12.2).

    So does the daily one of a face key (decisions 16.4).
    """


class NotFound(CallerError):
    """There is nothing here."""


class CnpjNotFound(NotFound):
    """The CNPJ does not exist, says a source that can prove it (404)."""


class RegistrationNotFound(NotFound):
    """The company has no registration with Suframa (404)."""


class ReceiptNotFound(NotFound):
    """No such receipt, or another account's (404)."""


class OperationNotFound(NotFound):
    """No such operation of this account, as far back as they are kept (404)."""


class BatchNotFound(NotFound):
    """No such batch of this account (404)."""


class BudgetNotFound(NotFound):
    """No such budget that lives, or none that this key may see (404)."""


class RouteNotFound(NotFound):
    """No such path (404)."""


class BatchStateRefused(CallerError):
    """Not in this state of the batch (409; decisions 13.2)."""

    def __init__(self, state: str) -> None:
        super().__init__(state)
        self.state = state


class QuoteChanged(CallerError):
    """The batch's quote is another one by now (409; decisions 13.3)."""


class BatchErased(CallerError):
    """The batch's data were deleted, or have run out (410; decisions 13.6)."""


class MethodNotAllowed(CallerError):
    """This path does not take this method (405)."""


class RequestTooLarge(CallerError):
    """A body (413), or a request line and headers over the limit (431).

    `body_bytes_max`: what this address takes; 0, nothing.
    """

    def __init__(self, *, headers: bool = False, body_bytes_max: int = 0) -> None:
        super().__init__()
        self.headers = headers
        self.body_bytes_max = body_bytes_max


class UnsupportedMediaType(CallerError):
    """This address takes bodies, but none of this type (415)."""


class InvalidRequest(CallerError):
    """What came is no HTTP/1.1 request, or not one that can be read in one way only.

    `status`: 400; 408, it did not come in time; 501, in a coding that nobody knows here; 505,
    another version.
    """

    def __init__(self, status: int = 400) -> None:
        super().__init__()
        self.status = status


class SourceError(BalcaoError):
    """An upstream let us down. `detail` is for the log: it holds no personal data."""


class SourceUnavailable(SourceError):
    """Down, in maintenance, circuit open: the next source may do (503)."""

    def __init__(self, detail: str = "", retry_in_seconds: int = 30) -> None:
        super().__init__(detail)
        self.retry_in_seconds = retry_in_seconds


class NotServed(SourceUnavailable):
    """No source is configured that takes such a question: a person has to change that (503)."""


class SourceFailed(SourceError):
    """It was asked, and it failed, timed out or answered something we cannot use."""


class OriginRefused(SourceError):
    """The source is well and refuses the question as such."""


class DataRefused(OriginRefused):
    """The source refuses the data as such: the birth date is not that of the CPF (400)."""


class NewIssueRefused(OriginRefused):
    """The source does not issue a new certificate; the second copy tells what there is (400)."""


class CertificateFailed(BalcaoError):
    """What `SourceFailed` is to a caller who asked for a certificate (decisions 3)."""


class PepperDiffers(BalcaoError):
    """The database's keys were hashed with another `secret.key` than this folder's."""


class ClockOff(BalcaoError):
    """This node's clock differs from the database's by more than nodes' may (decisions 9.8)."""


class SearchUnavailable(BalcaoError):
    """The month in use has no search index, or there is no month (503; decisions 14.7)."""


class FileRunning(BalcaoError):
    """Other files of this account, or of all, are being written or downloaded (503)."""


class NoFileSpace(BalcaoError):
    """The room for the files of all accounts is used up, or the disk's is (503)."""


class Overloaded(BalcaoError):
    """More work is under way than we may take (503)."""

    def __init__(self, retry_in_seconds: int = 1) -> None:
        super().__init__()
        self.retry_in_seconds = retry_in_seconds


class StorageFailed(BalcaoError):
    """Our own storage cannot write (disk full, file damaged); nothing was kept (503)."""


class CommitUncertain(StorageFailed):
    """The database went away in the middle of a commit, and its outcome is not known yet (503).

    Only several nodes over one database can raise it. The request may have been carried out and
    charged: it is safe to repeat under the same Idempotency-Key alone (decisions 6.4).
    """


class StorageNewer(BalcaoError):
    """The file was written by a newer version of this program; told to the operator only."""


class StorageUnreleased(BalcaoError):
    """Written by a version from before the first release; shown to the operator only."""


class StorageMoved(BalcaoError):
    """The data were moved elsewhere; told to the operator only.

    `detail` is the place, without user or password.
    """


class StorageIncomplete(BalcaoError):
    """The data are being moved here, and the move is not finished; told to the operator only.

    `detail` is the place they come from, without user or password.
    """


class NameTaken(BalcaoError):
    """An account of this name exists already; told to the operator only."""


class EmailTaken(BalcaoError):
    """Somebody with this e-mail address exists already; told in the office only.

    Holds no address.
    """


class FormDone(BalcaoError):
    """This very form was sent and carried out before; told in the office only."""


class TermsRefused(BalcaoError):
    """What an account has spent or owes forbids these terms; told to the operator only."""


class LastOperator(BalcaoError):
    """Nobody could get in as an operator any more; told to the operator only."""


class HomeInUse(BalcaoError):
    """Another server runs on this data folder; told to the operator only."""


class HomeDamaged(BalcaoError):
    """A file of the data folder is not whole; told to the operator only."""


class ProviderUnusable(BalcaoError):
    """What the settings name for a provider cannot be used; told to the operator only.

    `detail` says why and what to do, never a secret or what a file holds.
    """

    sentence = "{detail}"  # a provider's own kind of it says all of it to the operator
