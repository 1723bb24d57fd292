"""A steel column on a rig, and a server in a thread of its own."""

import threading

import bondloop as bl
from bondloop.devices import GiuffreMenegottoPinto
from bondloop.interop.server import Server
from bondloop.rigs import Emulated, mounted
from bondloop.safety import Interlock, Limits
from bondloop.substructure import ExternalHalf

COLUMN = GiuffreMenegottoPinto(stiffness=2e6, yield_force=1e4, hardening=0.02)


def column_test(force: float = 14e3, **half: object) -> bl.HybridTest:
    """Return a test of a steel column, by a stiff servo that overshoots nothing."""
    given = {"stroke": 0.02, "speed": 0.05, "frequency": 20.0, "tolerance": 1e-7, **half}
    servo = bl.transfer.MassSpringDamper(m=50, c=1.1e5, k=5e7, drive="position")
    return bl.HybridTest(
        ExternalHalf(**given),
        rig=Emulated(mounted(COLUMN), servo),
        controller=bl.control.Direct(),
        excitation={},
        rate=1000,
        gap=5.0,
        interlock=Interlock(
            Limits(displacement=0.025, velocity=0.2, force=force, command=0.03, command_rate=1.0), retreat=0.2
        ),
        name="column",
    )


class Running:
    """A server in a thread, what it said, and what became of it."""

    def __init__(self, server: Server) -> None:
        self.server, self.port, self.said, self.ended = server, server.port, [], ""
        server._tell = self.said.append
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        self.ended = self.server.serve(self.stopping.is_set)

    def wait(self) -> str:
        """Wait until the program that has the rig is done."""
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.ended
