"""Clocks that a test sets: time goes by when it says so, and the system's jumps when it says so."""

from balcao.service.clock import Clock, system_now_ms

DAY_MS = 86_400_000


class Clocks:
    """The system's clock (by default as it is, when the test begins) and the steady one, in ms."""

    def __init__(self, system: int | None = None) -> None:
        self.system = system_now_ms() if system is None else system
        self.steady = 3 * DAY_MS

    def go_on(self, ms: int) -> None:
        """Time goes by."""
        self.system += ms
        self.steady += ms

    def jump(self, ms: int) -> None:
        """Somebody sets the system's clock."""
        self.system += ms

    def clock(self) -> Clock:
        """A process's clock, made from these."""
        return Clock(lambda: self.system, lambda: self.steady)
