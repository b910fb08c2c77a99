"""Creation and changes of webhooks, for the API, the application and the command line."""

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from balcao.accounts.seal import WEBHOOK_SECRET, Seal
from balcao.accounts.webhooks.resolving import Resolve, checked, resolve
from balcao.core.calendar import HOUR_MS
from balcao.core.errors import InvalidParameter
from balcao.core.event_types import kinds_named
from balcao.core.freshness import DAY_MS
from balcao.core.people import Signature
from balcao.core.request_tags import TAG_CHARACTERS, reject_cpf, tag_problem
from balcao.core.webhook_addresses import Network
from balcao.core.webhooks import (
    DELIVERIES_KEPT_DAYS,
    DESCRIPTION_CHARACTERS_MAX,
    FILTERS_MAX,
    ROTATION_HOURS_MAX,
    SECRET_BYTES,
    TAIL_CHARACTERS,
    DeliveryState,
    secret_text,
)
from balcao.storage.desk.desk import Desk
from balcao.storage.desk.recorded_answer import MakeAnswer
from balcao.storage.desk.webhooks import WebhookChange
from balcao.storage.webhooks import Delivery, NewWebhook, Webhook


@dataclass(frozen=True, slots=True)
class Shown:
    """An endpoint with the secret that was just made; it is never shown again."""

    webhook: Webhook
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class WebhookDesk:
    """The webhooks of all accounts. Methods raise `StorageFailed`, `WebhookNotFound`."""

    desk: Desk
    seal: Seal
    private: Sequence[Network]
    now_ms: Callable[[], int]
    new_id: Callable[[], str]
    resolve: Resolve = resolve

    async def all(self, account_id: int) -> Sequence[Webhook]:
        """Return an account's endpoints, the oldest first."""
        return await self.desk.webhooks.of_account(account_id)

    async def one(self, account_id: int, webhook_id: str) -> Webhook:
        """Return an endpoint."""
        return await self.desk.webhooks.one(account_id, webhook_id)

    async def create(
        self,
        account_id: int,
        url: str,
        signed: Signature,
        *,
        kinds: Sequence[str] | None = None,
        clients: Sequence[str] | None = None,
        description: str | None = None,
        keep: MakeAnswer[Webhook] = lambda made: None,
    ) -> Shown:
        """Create an endpoint after checking its address.

        Raises `WebhookAddressRefused`, `InvalidParameter`, `TagWithCpf`, `TooManyWebhooks`.
        """
        check_filters(kinds, clients, description)
        await checked(url, self.private, self.resolve)
        text = secret_text(secrets.token_bytes(SECRET_BYTES))
        new = NewWebhook(
            self.new_id(),
            account_id,
            url,
            kinds,
            clients,
            description,
            self.seal.close(WEBHOOK_SECRET, text.encode()),
            text[-TAIL_CHARACTERS:],
        )
        made = await self.desk.webhooks.create(new, signed, self.now_ms(), keep)
        return Shown(made, text)

    async def change(
        self,
        account_id: int,
        webhook_id: str,
        signed: Signature,
        *,
        url: str | msgspec.UnsetType = msgspec.UNSET,
        kinds: Sequence[str] | msgspec.UnsetType | None = msgspec.UNSET,
        clients: Sequence[str] | msgspec.UnsetType | None = msgspec.UNSET,
        description: str | msgspec.UnsetType | None = msgspec.UNSET,
        on: bool | msgspec.UnsetType = msgspec.UNSET,
    ) -> Webhook:
        """Change what is set; the address is checked again if it differs.

        Raises the errors of `create`.
        """

        def changed(before: Webhook) -> WebhookChange:
            return WebhookChange(
                before.url if url is msgspec.UNSET else url,
                before.kinds if kinds is msgspec.UNSET else kinds,
                before.clients if clients is msgspec.UNSET else clients,
                before.description if description is msgspec.UNSET else description,
                before.is_on if on is msgspec.UNSET else on,
            )

        before = await self.one(account_id, webhook_id)
        after = changed(before)
        check_filters(after.kinds, after.clients, after.description)
        if after.url != before.url:
            await checked(after.url, self.private, self.resolve)
        return await self.desk.webhooks.change(
            account_id, webhook_id, changed, signed, self.now_ms()
        )

    async def remove(self, account_id: int, webhook_id: str, signed: Signature) -> Webhook:
        """Delete an endpoint, and return its last state."""
        return await self.desk.webhooks.remove(account_id, webhook_id, signed, self.now_ms())

    async def rotate(
        self,
        account_id: int,
        webhook_id: str,
        hours: int,
        signed: Signature,
        keep: MakeAnswer[Webhook] = lambda made: None,
    ) -> Shown:
        """Replace the secret; both sign for these hours. Raises `InvalidParameter`."""
        if not 0 <= hours <= ROTATION_HOURS_MAX:
            raise InvalidParameter(f"horas: de 0 a {ROTATION_HOURS_MAX}.")
        text = secret_text(secrets.token_bytes(SECRET_BYTES))
        sealed = self.seal.close(WEBHOOK_SECRET, text.encode()), text[-TAIL_CHARACTERS:]
        after = await self.desk.webhooks.rotate(
            account_id,
            webhook_id,
            sealed,
            signed,
            both_ms=hours * HOUR_MS,
            now_ms=self.now_ms(),
            keep=keep,
        )
        return Shown(after, text)

    async def ping(
        self,
        account_id: int,
        webhook_id: str,
        keep: MakeAnswer[str] = lambda made: None,
    ) -> str:
        """Queue a test, and return its event's identifier."""
        return await self.desk.webhooks.ping(account_id, webhook_id, self.now_ms(), keep)

    async def deliveries(
        self,
        webhook: Webhook,
        *,
        state: DeliveryState | None = None,
        before: int = 0,
        limit: int,
    ) -> Sequence[Delivery]:
        """Return a page of the deliveries of thirty days, newest first."""
        return await self.desk.webhook_deliveries.of_webhook(
            webhook.webhook_id, self._since_ms(), state=state, before=before, limit=limit
        )

    async def resend_one(
        self,
        webhook: Webhook,
        delivery_id: int,
        keep: MakeAnswer[int] = lambda count: None,
    ) -> int:
        """Repeat a delivery. Raises `DeliveryNotFound`, `WebhookIsOff`."""
        return await self.desk.webhook_deliveries.resend_one(
            webhook, delivery_id, self.now_ms(), self._since_ms(), keep
        )

    async def resend(
        self,
        webhook: Webhook,
        from_ms: int,
        to_ms: int | None,
        *,
        failed_only: bool,
        keep: MakeAnswer[int] = lambda count: None,
    ) -> int:
        """Repeat the deliveries of a period, or those that failed. Return their number.

        Raises `ResendUnderWay`, `WebhookIsOff`.
        """
        now_ms = self.now_ms()
        return await self.desk.webhook_deliveries.resend(
            webhook,
            max(from_ms, self._since_ms()),
            now_ms if to_ms is None else to_ms,
            now_ms,
            failed_only=failed_only,
            keep=keep,
        )

    def _since_ms(self) -> int:
        return self.now_ms() - DELIVERIES_KEPT_DAYS * DAY_MS


def check_filters(
    kinds: Sequence[str] | None, clients: Sequence[str] | None, description: str | None
) -> None:
    """Check the fields that people write. Raises `InvalidParameter`, `TagWithCpf`."""
    for name, values in (("tipos", kinds), ("clientes", clients)):
        if values is not None and not 1 <= len(values) <= FILTERS_MAX:
            raise InvalidParameter(f"{name}: de 1 a {FILTERS_MAX}, ou nulo para todos.")
    for kind in kinds or ():
        if not kinds_named(kind):
            raise InvalidParameter(f"tipos: {kind[:60]} não é um tipo de evento.")
    for client in clients or ():
        if tag_problem(client) == "form":
            raise InvalidParameter(f"clientes: até 64 caracteres; {TAG_CHARACTERS}.")
        reject_cpf(client, "clientes")
    if description is not None:
        if not 1 <= len(description) <= DESCRIPTION_CHARACTERS_MAX:
            raise InvalidParameter(f"descricao: de 1 a {DESCRIPTION_CHARACTERS_MAX} caracteres.")
        if any(character < " " for character in description):
            raise InvalidParameter("descricao: sem caracteres de controle.")
        reject_cpf(description, "descricao")
