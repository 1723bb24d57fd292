"""Run files as they were written before schema 2: a dataset for each channel. For tests and benchmarks."""

import json

import h5py
import numpy as np


def write_schema_one(record, path):
    """Write a finished run."""
    with h5py.File(path, "w", track_order=True) as file:
        file.attrs["format"], file.attrs["schema"] = "bondloop run", 1
        file.attrs["status"] = str(record.attributes.get("status", ""))
        _put(file, "time", record.time, "s")
        group = file.create_group("channels", track_order=True)
        for name, values in record.channels.items():
            _put(group, name, values, record.units[name])
            group[name].attrs["meaning"] = json.dumps(record.meanings[name].describe())
        file["description"] = json.dumps(record.description)
        file["attributes"] = json.dumps(record.attributes)


def _put(group, name, values, unit):
    options = {}
    if values.size >= 65536:
        options = {"chunks": (65536,), "shuffle": True, "compression": "gzip", "compression_opts": 1}
    dataset = group.create_dataset(name, data=values, dtype="<f8", **options)
    dataset.attrs["unit"] = unit


class GrowingSchemaOne:
    """A run that is recorded while it goes on; the interface is that of `GrowingRun`."""

    def __init__(self, path, units, cycle, *, rate, attributes=None):
        self.file = h5py.File(path, "x", libver=("v110", "v110"), track_order=True)
        self.file.attrs["format"], self.file.attrs["schema"] = "bondloop run", 1
        self.file.attrs["status"] = np.array(b"recording", dtype="S32")
        self.chunk = int(np.clip(0.5 * rate, 128, 4096))
        self.parts = {name: self._part(name, units, cycle) for name in ("/", "/retreat")}
        self.file["description"] = "{}"
        text = json.dumps(dict(attributes or {})).encode()
        self.file.create_dataset("attributes", data=np.array(text, dtype="S65536"))
        self.file.swmr_mode = True

    def _part(self, name, units, cycle):
        group = self.file if name == "/" else self.file.create_group(name)

        def column(where, word, kind):
            fill = np.nan if kind == "<f8" else 0
            return where.create_dataset(
                word, shape=(0,), maxshape=(None,), chunks=(self.chunk,), dtype=kind, fillvalue=fill
            )

        time = column(group, "time", "<f8")
        time.attrs["unit"] = "s"
        channels = group.create_group("channels", track_order=True)
        columns = [column(channels, word, "<f8") for word in units]
        for dataset, unit in zip(columns, units.values(), strict=True):
            dataset.attrs["unit"] = unit
        loop = group.create_group("loop", track_order=True)
        cycles = {word: column(loop, word, kind) for word, kind in cycle.items()}
        committed = group.create_dataset("committed", data=np.int64(0))
        return {"rows": 0, "time": time, "columns": columns, "cycles": cycles, "committed": committed}

    def append(self, time, values, cycle, part="/"):
        """Append rows."""
        own = self.parts[part]
        begin, count = own["rows"], len(time)
        own["rows"] = end = begin + count
        here, there = h5py.h5s.create_simple((count,)), h5py.h5s.create_simple((end,))
        there.select_hyperslab((begin,), (count,))
        pairs = [(own["time"], time), *zip(own["columns"], values.T, strict=True)]
        for dataset, rows in [*pairs, *((own["cycles"][word], cycle[word]) for word in own["cycles"])]:
            dataset.id.set_extent((end,))
            dataset.id.write(here, there, np.ascontiguousarray(rows))

    def commit(self):
        """Let the file hold all rows so far."""
        self.file.flush()
        for own in self.parts.values():
            own["committed"][()] = own["rows"]
            own["committed"].flush()

    def close(self):
        """Close the file."""
        self.commit()
        self.file.close()
