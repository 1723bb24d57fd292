"""Studies on the workers of a Dask cluster: on this machine, or on many."""

from __future__ import annotations

import hashlib
import logging
import pickle
import signal
import threading
import time
from contextlib import ExitStack, contextmanager
from importlib import metadata
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bondloop.engine.codegen import Batch, BatchResult, Ends, next_size
from bondloop.errors import BondloopError, InputError
from bondloop.studies.policy import POLICY, StudyPolicy
from bondloop.studies.rehearsals import Chunk, Job, Part, Place, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from distributed import Client, Future
    from numpy.typing import NDArray


INSTALL = "Dask is not installed: pip install 'bondloop[cluster]'"


class Done(NamedTuple):
    """What a worker sends back."""

    result: BatchResult
    backend: str
    where: str


class _Received:
    """A job on a worker, compiled once for each of its threads: a batch runs one thing at a time.

    It is made of what was sent, which any worker can do again, whoever dies.
    """

    def __init__(self, text: bytes, version: str) -> None:
        from distributed import get_worker

        if (own := metadata.version("bondloop")) != version:  # a worker that came later than the study
            raise BondloopError(_other_versions(version, {get_worker().address: own}))
        self._text, self._version = text, version
        self.job: Job = pickle.loads(text)  # noqa: S301 - from the study, over Dask's own connection
        self._batches: dict[int, Batch] = {}

    def __reduce__(self) -> tuple[type[_Received], tuple[bytes, str]]:
        return _Received, (self._text, self._version)

    @property
    def batch(self) -> Batch:
        """Compiled, for this thread."""
        thread = threading.get_ident()
        if thread not in self._batches:
            self._batches[thread] = self.job.batch()
        return self._batches[thread]


def _rehearsed(received: _Received, table: NDArray[np.float64]) -> Done:
    """Run tests on a worker, in the thread that it gives."""
    batch, job = received.batch, received.job
    return Done(batch.run(table, job.steps, job.inputs, jobs=1), batch.backend, batch.where)


def dask_setup(worker: object) -> None:
    """Leave Ctrl-C to the study; Dask calls this in the workers that a study starts.

    Parameters
    ----------
    worker
        Dask's.
    """
    del worker
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def on_cluster(
    cluster: int | str | Client,
    parts: Sequence[Part],
    place: Place,
    progress: Progress | None = None,
    policy: StudyPolicy = POLICY,
) -> Iterator[Chunk]:
    """Run tests on the workers of a cluster; results come in any order, each once.

    Parameters
    ----------
    cluster
        A number of processes on this machine, the address of a scheduler, or a ``distributed.Client``.
    parts
        What to run.
    place
        Is told where they run.
    progress
        Called with the tests done and the tests wanted.
    policy
        Sizes of chunks, and for how long a scheduler is waited for.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(INSTALL) from None
    with ExitStack() as stack:
        with _ctrl_c_waits():
            client = _client(cluster, stack, policy.patience)
        _expect_this_version(client)
        dispatch = _Dispatch(client, parts, policy)
        stack.callback(dispatch.cancel)
        whole, done, backends = sum(len(part.numbers) for part in parts), 0, set()
        try:
            for numbers, answer in dispatch.results():
                done += len(numbers)
                backends.add(answer.backend)
                workers = dispatch.workers
                place.backend = " and ".join(sorted(backends))
                threads = f", {dispatch.threads} threads" if dispatch.threads > workers else ""
                place.words = f"{workers} worker{'s' * (workers > 1)}{threads}, {answer.where} each"
                if progress is not None:
                    progress(done, whole)
                yield Chunk(numbers, answer.result)
        except distributed.KilledWorker as error:
            raise BondloopError(
                f"the same tests ended a worker again and again ({error.last_worker.address} at last): see "
                "its log, and whether it has enough memory"
            ) from error
        except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
            raise BondloopError("the scheduler of the cluster is gone") from error
        except ModuleNotFoundError as error:
            raise BondloopError(f"a worker cannot import {error.name}: install it there, too") from error


@contextmanager
def _ctrl_c_waits() -> Iterator[None]:
    """Let Ctrl-C wait until a cluster is up, so that it can be ended: half of one cannot.

    Threads and processes that are started meanwhile inherit that it is blocked, and leave it to the study.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # It unblocks Ctrl-C in the thread that starts it: the one that starts workers, were it not there by then.
    resource_tracker.ensure_running()
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: pressed.append(number))
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def _client(cluster: int | str | Client, stack: ExitStack, patience: float) -> Client:
    """Return a client; what is started for it ends with the stack."""
    import distributed

    if isinstance(cluster, distributed.Client):
        return cluster
    if isinstance(cluster, int) and not isinstance(cluster, bool):
        if cluster < 1:
            raise InputError(f"workers: expected a number from 1 up; found {cluster}")
        cluster = stack.enter_context(
            distributed.LocalCluster(
                n_workers=cluster,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                preload=[__name__],
                silence_logs=logging.ERROR,
            )
        )
    elif not isinstance(cluster, str):
        raise InputError(
            f"expected a number of workers, an address (tcp://host:8786) or a client; found {cluster!r}"
        )
    try:
        client = stack.enter_context(distributed.Client(cluster, timeout=patience))
    except (OSError, ValueError) as error:  # TimeoutError among them; an address that is none
        raise InputError(
            f"no Dask scheduler answers at {cluster} ({error}): start one with 'dask scheduler', and 'dask "
            "worker ADDRESS' wherever tests are to run"
        ) from error
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError as error:
        raise InputError(f"the cluster at {cluster} has no workers: start 'dask worker ADDRESS'") from error
    return client


def _expect_this_version(client: Client) -> None:
    """Refuse workers of another version: what they compute could differ from what this one does.

    They are asked for the version of the installed package, which any version, and none, can tell.
    """
    own = metadata.version("bondloop")
    found = client.run(metadata.version, "bondloop", on_error="return")
    if others := {worker: version for worker, version in found.items() if version != own}:
        raise InputError(_other_versions(own, others))


def _other_versions(own: str, others: Mapping[str, object]) -> str:
    found = [f"{worker} has {v if isinstance(v, str) else 'none'}" for worker, v in others.items()]
    return (
        f"the study runs with bondloop {own}, and of the cluster's workers {', '.join(found)}: install "
        f"bondloop {own} there ('pip install bondloop=={own}') and start them anew"
    )


class _Dispatch:
    """Gives workers chunks that take some seconds, as measured."""

    def __init__(self, client: Client, parts: Sequence[Part], policy: StudyPolicy) -> None:
        self._client, self._parts, self._policy = client, list(parts), policy
        self._left = sum(len(part.numbers) for part in parts)
        self._jobs: dict[int, Future] = {}
        self._under_way: dict[Future, NDArray[np.int64]] = {}
        self._part, self._at, self._size = 0, 0, policy.first_chunk
        self._count()
        self._next()

    def _count(self) -> None:
        threads = self._client.nthreads()
        self.workers, self.threads = len(threads), max(1, sum(threads.values()))

    def _next(self) -> None:
        while self._part < len(self._parts) and self._at >= len(self._parts[self._part].numbers):
            self._part, self._at = self._part + 1, 0

    def _job(self, number: int) -> Future:
        """Return a part's job on the cluster; parts of one job share it."""
        job = self._parts[number].job
        if id(job) not in self._jobs:
            text = pickle.dumps(job)
            key = f"bondloop-job-{hashlib.sha256(text).hexdigest()}"
            self._jobs[id(job)] = self._client.submit(_Received, text, metadata.version("bondloop"), key=key)
        return self._jobs[id(job)]

    def _more(self) -> list[Future]:
        """Submit chunks until every thread has some."""
        submitted = []
        ahead = self._policy.chunks_ahead * self.threads
        while self._left and len(self._under_way) < ahead:
            part = self._parts[self._part]
            # At the end chunks become small, so that workers end together.
            share = max(self._policy.chunk_multiple, self._left // ahead)
            end = min(len(part.numbers), self._at + min(self._size, share))
            future = self._client.submit(
                _rehearsed, self._job(self._part), part.table[self._at : end], pure=False
            )
            self._under_way[future] = part.numbers[self._at : end]
            self._left -= end - self._at
            self._at = end
            self._next()
            submitted.append(future)
        return submitted

    def results(self) -> Iterator[tuple[NDArray[np.int64], Done]]:
        """Return tests and what came of them, as they come."""
        from distributed import as_completed

        ended, policy = as_completed(self._more()), self._policy
        counted = time.monotonic()
        for future in ended:
            answer: Done = future.result()
            numbers = self._under_way.pop(future)
            self._size = next_size(
                len(numbers),
                answer.result.seconds,
                policy.chunk_seconds,
                policy.chunk_multiple,
                policy.largest_chunk,
            )
            if time.monotonic() - counted > policy.chunk_seconds:  # workers come and go
                self._count()
                counted = time.monotonic()
            for other in self._more():
                ended.add(other)
            yield numbers, Done(_own(answer.result), *answer[1:])

    def cancel(self) -> None:
        """Take back what is not done."""
        if self._under_way and self._client.status == "running":
            self._client.cancel(list(self._under_way))
        self._under_way.clear()


def _own(result: BatchResult) -> BatchResult:
    """Return a result whose arrays can be written: those that came over a network cannot."""
    return BatchResult(
        np.array(result.states), result.names, Ends(*(np.array(e) for e in result.ends)), result.seconds
    )
