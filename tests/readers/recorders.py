"""Files as recorders of several makes write them, with numbers that are known."""

from pathlib import Path

import numpy as np


def signals(rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return time [s], command [mm] and force [kN] at 1 kHz: 2 sin 30 t, and 3 cos 30 t."""
    t = np.arange(rows) / 1000
    return t, 2 * np.sin(30 * t), 3 * np.cos(30 * t)


def daq(rows: int, columns: tuple[np.ndarray, np.ndarray] | None = None) -> bytes:
    """The layout of a logger in a laboratory: head, names, clock, events that make rows longer at both ends.

    It is that of the raw files in the repository vRTHS_AMBC_MRdamper by M. Quiroz.
    """
    x, f = columns or signals(rows)[1:]
    head = [
        "Header Size:  7", "Version:  2", "Sampling Interval:  0.001", "Sampling Rate:  1000",
        f"Sample Count:  {rows}", "Device Serial Number:  0",
        "Sample Number, Date/Time, CHANNEL0, CHANNEL1, Events",
    ]  # fmt: skip
    lines = []
    for k in range(rows):
        milliseconds = 57_936_674 + k
        clock = f"04:05:{milliseconds / 1000 % 60:06.3f} PM"
        events = ", DAQ Start" if k == 0 else ", DAQ Pause, DAQ Stop" if k == rows - 1 else ""
        lines.append(f"{k + 1:10d},   06/29/2022 {clock}, {x[k]:.4f}, {f[k]:.4f}{events}")
    return ("\r\n".join([*head, *lines]) + "\r\n").encode()


def mts(rows: int) -> bytes:
    """The layout of MTS's MPT: a first line of bars, a title, names, units; in two blocks."""
    t, x, f = signals(rows)
    title = "Data Acquisition:\t\tTime:\t0.0005\tSec\t11/5/2003 1:52:40 PM"
    names = "Running Time\tAxial Displacement\tAxial Force"
    half = rows // 2
    text = "MTS793|MPT|ENU|1|2|.|/|:|1|0|0|A\r\n"
    for part in (slice(0, half), slice(half, rows)):
        lines = [f"{a:.6f}\t{b:.6f}\t{c:.6f}" for a, b, c in zip(t[part], x[part], f[part], strict=True)]
        text += "\r\n".join(["", title, names, "Sec\tmm\tkN", *lines]) + "\r\n"
    return text.encode()


def commas(rows: int) -> bytes:
    """What a German spreadsheet writes: semicolons, decimal commas, µ in Windows-1252, a mark or none."""
    t, x, f = signals(rows)
    lines = [f"{a * 1e6:.1f};{b:.6f};{c:.6f}".replace(".", ",") for a, b, c in zip(t, x, f, strict=True)]
    return "\r\n".join(["Time [µs];Command (mm);Force / kN", *lines, ""]).encode("cp1252")


def utf16(rows: int) -> bytes:
    """What Windows calls Unicode text: UTF-16 with a mark, tabs, a row of units."""
    t, x, f = signals(rows)
    lines = [f"{a:.6f}\t{b:.6f}\t{c:.6f}" for a, b, c in zip(t, x, f, strict=True)]
    return "\r\n".join(["Time\tCommand\tForce", "[s]\t[mm]\t[kN]", *lines]).encode("utf-16")


def lvm(rows: int, *, columns: str = "No") -> bytes:
    """A LabVIEW measurement file with one segment."""
    t, x, f = signals(rows)
    head = [
        "LabVIEW Measurement\t", "Writer_Version\t2", "Reader_Version\t2", "Separator\tTab",
        "Decimal_Separator\t.", "Multi_Headings\tYes", f"X_Columns\t{columns}", "Time_Pref\tAbsolute",
        "Operator\trig", "Date\t2022/06/29", "Time\t16:05:36.674", "***End_of_Header***\t", "\t",
        "Channels\t2\t\t", f"Samples\t{rows}\t{rows}\t", "Date\t2022/06/29\t2022/06/29\t",
        "Time\t16:05:36.674\t16:05:36.674\t", "Y_Unit_Label\tmm\tkN\t", "X_Dimension\tTime\tTime\t",
        "X0\t0.0000000000000000E+0\t0.0000000000000000E+0\t", "Delta_X\t0.001000\t0.001000\t",
        "***End_of_Header***\t\t\t", "X_Value\tCommand\tForce\tComment",
    ]  # fmt: skip
    first = [f"{a:.6f}" if columns == "One" else "" for a in t]
    lines = [f"{a}\t{b:.6f}\t{c:.6f}\t" for a, b, c in zip(first, x, f, strict=True)]
    return ("\r\n".join([*head, *lines]) + "\r\n").encode()


def write_mdf(path: Path, rows: int = 40) -> None:
    """An MDF 4.10 file: two channels on one clock, one on another."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from asammdf import MDF, Signal

        t, x, f = signals(rows)
        with MDF(version="4.10") as file:
            both = [Signal(x, t, name="Command", unit="mm"), Signal(f, t, name="Force", unit="kN")]
            file.append(both)
            file.append([Signal(t[:5], 2 * t[:5], name="slow", unit="s")])
            file.save(path, overwrite=True)


LAYOUTS = {"daq": daq, "mts": mts, "commas": commas, "utf16": utf16, "lvm": lvm}
