"""FMUs as FMPy drives them, with names instead of value references and one face for both versions."""

import contextlib
import shutil

from fmpy import extract, read_model_description
from fmpy.fmi2 import FMU2Model, FMU2Slave
from fmpy.fmi3 import FMU3Model, FMU3Slave


class Slave:
    """An instance of an FMU, initialised at t = 0."""

    def __init__(self, path, starts=None, token=None):
        self.md = read_model_description(str(path), validate=True)
        self.two = self.md.fmiVersion == "2.0"
        self.folder = extract(str(path))
        exchange = self.md.coSimulation is None
        kinds = (FMU2Slave, FMU3Slave) if not exchange else (FMU2Model, FMU3Model)
        about = self.md.modelExchange if exchange else self.md.coSimulation
        self.fmu = kinds[not self.two](
            guid=token or (self.md.guid if self.two else self.md.instantiationToken),
            unzipDirectory=self.folder,
            modelIdentifier=about.modelIdentifier,
            instanceName="one",
        )
        self.references = {v.name: v.valueReference for v in self.md.modelVariables}
        self.fmu.instantiate()
        self.set(starts or {})
        self.begin()

    def begin(self):
        if self.two:
            self.fmu.setupExperiment(startTime=0.0)
        self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def get(self, names):
        read = self.fmu.getReal if self.two else self.fmu.getFloat64
        return list(read([self.references[n] for n in names]))

    def set(self, values):
        write = self.fmu.setReal if self.two else self.fmu.setFloat64
        if values:
            write([self.references[n] for n in values], list(values.values()))

    def step(self, time, size):
        self.fmu.doStep(currentCommunicationPoint=time, communicationStepSize=size)

    def close(self):
        self.fmu.terminate()
        self.fmu.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)


@contextlib.contextmanager
def opened(*paths, **options):
    slaves = [Slave(path, **options) for path in paths]
    try:
        yield slaves if len(slaves) > 1 else slaves[0]
    finally:
        for slave in slaves:
            slave.close()
