"""One column of a steel portal frame on a rig; the rest of the frame is in OpenSees, in frame.py.

It is emulated, by the steel of Giuffré, Menegotto and Pinto (OpenSees' Steel02), and moved by a servo.

    bondloop serve examples/opensees/column.py --port 8090
"""

import bondloop as bl
from bondloop.devices import GiuffreMenegottoPinto
from bondloop.rigs import Emulated, mounted
from bondloop.safety import Interlock, Limits
from bondloop.substructure import ExternalHalf


def test(force_limit: str = "14 kN") -> bl.HybridTest:  # noqa: PT028 - no test of pytest's
    """Return the test: the external half, the rig with the column, and what it may not pass."""
    column = GiuffreMenegottoPinto(
        stiffness="2 MN/m",
        yield_force="10 kN",
        hardening=0.02,
        curvature=20,
        curvature_loss=0.925,
        curvature_range=0.15,
    )
    servo = bl.transfer.MassSpringDamper(m="50 kg", c="110 kN s/m", k="50 MN/m", drive="position")
    return bl.HybridTest(
        ExternalHalf(stroke="20 mm", speed="50 mm/s", frequency="20 Hz", tolerance="0.1 µm"),
        rig=Emulated(mounted(column), servo),
        controller=bl.control.Direct(),
        excitation={},
        rate="1 kHz",
        interlock=Interlock(
            Limits(
                displacement="25 mm",
                velocity="0.2 m/s",
                force=force_limit,
                command="30 mm",
                command_rate="1 m/s",
            )
        ),
        name="column",
    )
