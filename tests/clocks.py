"""Clocks controlled by a test: time passes and jumps only when it is set."""

from balcao.service.clock import Clock, system_now_ms

DAY_MS = 86_400_000


class Clocks:
    """The system's clock (by default as it is, when the test begins) and the steady one, in ms."""

    def __init__(self, system: int | None = None) -> None:
        self.system = system_now_ms() if system is None else system
        self.steady = 3 * DAY_MS

    def go_on(self, ms: int) -> None:
        """Advance both clocks."""
        self.system += ms
        self.steady += ms

    def jump(self, ms: int) -> None:
        """Set the system's clock, but not the steady one."""
        self.system += ms

    def clock(self) -> Clock:
        """Return a process's clock that reads these."""
        return Clock(lambda: self.system, lambda: self.steady)
