"""What tests of batches share: the form with a list or a file, and waiting for a batch."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from balcao.storage.batches import StoredBatch
from tests.service import PATIENCE_SECONDS
from tests.web.browser import Browser, Said

LIST = "/app/lotes"
NEW = f"{LIST}/novo"
BOUNDARY = "----WebKitFormBoundary0balcao0"
MULTIPART = f"multipart/form-data; boundary={BOUNDARY}"


def multipart(
    fields: Mapping[str, str], file: bytes = b"", name: str = "", *, boundary: str = BOUNDARY
) -> bytes:
    """A form as browsers send it: the file last, and there even if none was chosen."""
    body = b""
    for field, value in fields.items():
        body += f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"\r\n\r\n'.encode()
        body += value.encode() + b"\r\n"
    body += f'--{boundary}\r\nContent-Disposition: form-data; name="arquivo"'.encode()
    body += f'; filename="{name}"\r\nContent-Type: text/csv\r\n\r\n'.encode()
    return body + file + f"\r\n--{boundary}--\r\n".encode()


@dataclass
class Office:
    """Somebody with batches."""

    browser: Browser

    def send(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> Said:
        """The form of a new batch, opened and sent."""
        opened = self.browser.get(NEW)
        assert opened.status == 200, opened.words
        given = {"operacao": "certidao-federal", "form_id": opened.field("form_id")}
        return self.post(given | dict(fields), file, name)

    def post(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> Said:
        """The same form, of a page that was opened before."""
        return self.browser.upload(NEW, multipart(fields, file, name), MULTIPART)

    def open(self, fields: Mapping[str, str], file: bytes = b"", name: str = "") -> str:
        """A new batch that was read and quoted: the address of its page."""
        said = self.send(fields, file, name)
        assert said.status == 303, said.words
        self.until(said.location, "cotado")
        return said.location

    def confirm(self, address: str, ceiling: int | None = None) -> Said:
        """The button of its page."""
        said = self.browser.get(address)
        fields = {name: said.field(name) for name in ("form_id", "digest", "teto_creditos")}
        if ceiling is not None:
            fields["teto_creditos"] = str(ceiling)
        return self.browser.post(f"{address}/confirmar", fields)

    def run(self, address: str) -> Said:
        """Confirmed, to its end: its page."""
        assert self.confirm(address).status == 303
        self.until(address, "concluido")
        return self.browser.get(address)

    def until(self, address: str, *states: str) -> StoredBatch:
        """Wait for it to be so."""
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
