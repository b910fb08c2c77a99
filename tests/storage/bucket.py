"""A bucket for tests, one per test process: moto's S3, in a process of its own.

It checks signatures as S3 does, and simulates wrong credentials, a missing bucket, and pages of a
thousand names. It listens on a free port of this machine only, keeps everything in memory, and ends
with this process.
"""

import atexit
import os
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import httpx2
import pytest

from tests.cli.shell import PATIENCE_SECONDS, free_port

NAME = "cofre"
REGION = "sa-east-1"

_EVERYTHING_IN_S3 = (
    '{"Version": "2012-10-17",'
    ' "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}'
)


class Server:
    """One running server with one bucket, `NAME`, and the credentials of its user."""

    environment: dict[str, str]

    def __init__(self) -> None:
        self._folder = TemporaryDirectory(prefix="balcao-s3-")
        self._said = Path(self._folder.name) / "said"
        self.url = f"http://127.0.0.1:{free_port()}"
        self.start()
        atexit.register(self.remove)

    def start(self) -> None:
        """Start it with an empty bucket, and wait until it checks signatures."""
        port = self.url.rpartition(":")[2]
        with self._said.open("wb") as said:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port],
                stdout=said,
                stderr=said,
                # Before there is a user, requests need no signature.
                env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "4"},
            )
        self._wait_until_it_answers()
        self._make_ready()

    def _wait_until_it_answers(self) -> None:
        until = time.monotonic() + PATIENCE_SECONDS
        with httpx2.Client(trust_env=False) as client:
            while True:
                try:
                    client.get(f"{self.url}/moto-api/data.json")
                    return
                except httpx2.TransportError:
                    assert self.process.poll() is None, self._said.read_text("utf-8")
                    assert time.monotonic() < until, self._said.read_text("utf-8")
                    time.sleep(0.02)

    def _make_ready(self) -> None:
        """Create a user with all permissions, and the bucket, by the four free actions."""
        session = boto3.Session("nobody", "nothing", region_name=REGION)
        iam = session.client("iam", endpoint_url=self.url)
        iam.create_user(UserName="balcao")
        iam.put_user_policy(UserName="balcao", PolicyName="s3", PolicyDocument=_EVERYTHING_IN_S3)
        key = iam.create_access_key(UserName="balcao")["AccessKey"]
        session.client("s3", endpoint_url=self.url).create_bucket(
            Bucket=NAME, CreateBucketConfiguration={"LocationConstraint": REGION}
        )
        self.environment = {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_REGION": REGION,
            "AWS_ACCESS_KEY_ID": key["AccessKeyId"],
            "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"],
        }

    def _s3(self) -> Any:
        environment = self.environment
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=REGION,
            aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        )

    def names(self) -> list[str]:
        """Return every object's key, prefix included, by another client."""
        return sorted(
            found["Key"]
            for page in self._s3().get_paginator("list_objects_v2").paginate(Bucket=NAME)
            for found in page.get("Contents", ())
        )

    def change(self, name: str, content: bytes) -> None:
        """Write an object by another client."""
        self._s3().put_object(Bucket=NAME, Key=name, Body=content)

    def stop(self) -> None:
        """Stop the server, which deletes the bucket's content."""
        self.process.terminate()
        self.process.wait(PATIENCE_SECONDS)

    def remove(self) -> None:
        """Stop the server."""
        if self.process.poll() is None:
            self.stop()
        self._folder.cleanup()


@cache
def server() -> Server:
    """Return the bucket of this test process."""
    return Server()


def name_in_environment(patch: pytest.MonkeyPatch, of: Server) -> None:
    """Return the bucket as configured by operators: by the usual variables of S3 clients."""
    for name, value in of.environment.items():
        patch.setenv(name, value)
