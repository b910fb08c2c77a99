"""Helpers for tests of batches: the form with a list or a file, and waiting for a batch."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from balcao.storage.batches import StoredBatch
from tests.service import PATIENCE_SECONDS
from tests.web.browser import Browser, PageResponse

LIST = "/app/lotes"
NEW = f"{LIST}/novo"
BOUNDARY = "----WebKitFormBoundary0balcao0"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def multipart(
    fields: Mapping[str, str], file: bytes = b"", name: str = "", *, boundary: str = BOUNDARY
) -> bytes:
    """Return a form as browsers send it: the file last, present even if none was chosen."""
    body = b""
    for field, value in fields.items():
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n'.encode()
        body += value.encode() + b"\r\n"
    body += f'--{boundary}\r\nContent-Disposition: form-data; name="arquivo"'.encode()
    body += f'; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'.encode()
    return body + file + f"\r\n--{boundary}--\r\n".encode()


@dataclass
class BatchUser:
    """A person's browser, used to work with batches."""

    browser: Browser

    def send(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> PageResponse:
        """Open the form of a new batch, fill it in and send it."""
        opened = self.browser.get(NEW)
        assert opened.status == 200, opened.words
        given = {"operacao": "certidao-federal", "form_id": opened.field("form_id")}
        return self.post(given | dict(fields), file, name)

    def post(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> PageResponse:
        """Send the form of a page that was opened before."""
        return self.browser.upload(NEW, multipart(fields, file, name), MULTIPART)

    def open(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> str:
        """Open a new batch and wait for its quote; return its page's address."""
        answer = self.send(fields, file, name)
        assert answer.status == 303, answer.words
        self.until(answer.location, "cotado")
        return answer.location

    def confirm(self, address: str, ceiling: int | None = None) -> PageResponse:
        """Press the button on its page."""
        answer = self.browser.get(address)
        fields = {name: answer.field(name) for name in ("form_id", "digest", "teto_creditos")}
        if ceiling is not None:
            fields["teto_creditos"] = str(ceiling)
        return self.browser.post(f"{address}/confirmar", fields)

    def run(self, address: str) -> PageResponse:
        """Confirm the batch, wait for its end and return its page."""
        assert self.confirm(address).status == 303
        self.until(address, "concluido")
        return self.browser.get(address)

    def until(self, address: str, *states: str) -> StoredBatch:
        """Wait until the condition holds."""
        number = address.rpartition("/")[2]

        async def wait() -> StoredBatch:
            stored = self.browser.house.desk.batches
            async with asyncio.timeout(PATIENCE_SECONDS):
                while True:
                    batch = await stored.batch(number)
                    if batch is not None and batch.state in states:
                        return batch
                    await asyncio.sleep(0.01)

        return self.browser.house.run(wait())
