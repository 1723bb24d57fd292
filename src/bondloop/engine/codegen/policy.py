"""When generated code takes which form, and how work is shared out: measured, and no part of a result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CodePolicy:
    """When generated code takes which form. Values were measured with gcc on x86-64.

    Parameters
    ----------
    named_results
        Most results of a product that get names of their own; of more, each stays an element of the array.
    grouped_from
        Statements of a tick beyond which those of one form are put together. Fewer are faster one by one (2.6
        times at 1,000, 1.5 times at 3,000, not at 9,000), and compiled in 3 s at most; that grows with the
        square of their number.
    grouped_around_arrays
        The same where products give arrays: statements for one element each are slower than loops over them.
    smallest_group
        Statements that make a group, at the least; fewer are written one by one.
    side_by_side
        Statements of a tick beyond which its tests are run one by one: such a tick has vectors of its own.
    copied_elements
        Elements of one array that are copied by a loop, at the least.
    terms
        Most terms of a sum in one loop; longer sums go on in a second one.
    columns
        Columns of a dense matrix that are added in one pass over the result, in their order: with one a pass,
        it is read and written four times as often, which took a third of a product's time.
    band_rows
        Rows that a band has on average, at the least; shorter ones gain nothing over compressed rows.
    written_entries
        Most entries of a matrix that are written out one by one.
    sparse_share
        Share of entries that are not zero up to which zeros are left out.
    table_in_text
        Entries of a table that is always written out, at the most.
    tables_apart
        Entries of all other tables beyond which they are handed over in memory.
    inlined_lines
        Lines of a tick beyond which it is not copied into the run loop: the time of gcc grows faster than the
        tick.
    states_in_registers
        States beyond which a run works on them where they lie; copies of fewer end up in registers.
    optimised_statements
        Statements of a file beyond which it is compiled without optimisation.
    complaint_lines
        Lines of the compiler's complaint that an error repeats.
    library_bytes
        Of all libraries in the cache; some ten thousand libraries.
    library_interval
        Libraries that are added to the cache between two looks at its size.
    batch_bytes, card_bytes
        Of the states of tests that run at a time: a processor needs no more to be busy, a card is to be full.
    first_packs, growth
        Packs for each thread in the first block of a batch, which measures, and by how much the next may be
        larger.
    chunk_seconds
        How long one call of a compiled loop may take: between calls progress is shown and Ctrl-C is heard.
    share_seconds
        The same of one thread of a batch.
    threads
        Threads in a block of a graphics processor.
    first_steps, launch_seconds
        Ticks of the first launch there, and how long later ones may take.
    """

    named_results: int = 64
    grouped_from: int = 3000
    grouped_around_arrays: int = 500
    smallest_group: int = 16
    side_by_side: int = 3000
    copied_elements: int = 64
    terms: int = 16
    columns: int = 4
    band_rows: int = 8
    written_entries: int = 48
    sparse_share: float = 0.3
    table_in_text: int = 64
    tables_apart: int = 10_000
    inlined_lines: int = 400
    states_in_registers: int = 100
    optimised_statements: int = 10_000
    complaint_lines: int = 4
    library_bytes: int = 512 * 2**20
    library_interval: int = 100
    batch_bytes: int = 2**22
    card_bytes: int = 2**27
    first_packs: int = 4
    growth: float = 8.0
    chunk_seconds: float = 0.05
    share_seconds: float = 0.1
    threads: int = 128
    first_steps: int = 500
    launch_seconds: float = 0.5


POLICY = CodePolicy()
"""What all writers and runners go by."""
