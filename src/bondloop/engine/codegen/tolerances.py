"""Sizes at which generated code changes its form, and how its work is shared out: no result depends on them.

They were measured with gcc on x86-64.
"""

from __future__ import annotations

NAMED_RESULTS = 64
"""Most results of a product that get names of their own; of more, each stays an element of the array."""

GROUPED_FROM = 3000
"""Statements of a tick beyond which those of one form are put together. Fewer are faster one by one (2.6
times at 1,000, 1.5 times at 3,000, not at 9,000), and compiled in 3 s at most; that grows with the square of
their number."""

GROUPED_AROUND_ARRAYS = 500
"""The same where products give arrays: statements for one element each are slower than loops over them."""

SMALLEST_GROUP = 16
"""Statements that make a group, at the least; fewer are written one by one."""

SIDE_BY_SIDE = 3000
"""Statements of a tick beyond which its tests are run one by one: such a tick has vectors of its own."""

COPIED_ELEMENTS = 64
"""Elements of one array that are copied by a loop, at the least."""

TERMS = 16
"""Most terms of a sum in one loop; longer sums go on in a second one."""

COLUMNS = 4
"""Columns of a dense matrix that are added in one pass over the result, in their order: with one a pass, it
is read and written four times as often, which took a third of a product's time."""

BAND_ROWS = 8
"""Rows that a band has on average, at the least; shorter ones gain nothing over compressed rows."""

WRITTEN_ENTRIES = 48
"""Most entries of a matrix that are written out one by one."""

SPARSE_SHARE = 0.3
"""Share of entries that are not zero up to which zeros are left out."""

TABLE_IN_TEXT = 64
"""Entries of a table that is always written out, at the most."""

TABLES_APART = 10_000
"""Entries of all other tables beyond which they are handed over in memory."""

INLINED_LINES = 400
"""Lines of a tick beyond which it is not copied into the run loop: the time of gcc grows faster than the
tick."""

STATES_IN_REGISTERS = 100
"""States beyond which a run works on them where they lie; copies of fewer end up in registers."""

OPTIMISED_STATEMENTS = 10_000
"""Statements of a file beyond which it is compiled without optimisation."""

COMPLAINT_LINES = 4
"""Lines of the compiler's complaint that an error repeats."""

LIBRARY_BYTES = 512 * 2**20
"""Of all libraries in the cache; some ten thousand libraries."""

LIBRARY_INTERVAL = 100
"""Libraries that are added to the cache between two looks at its size."""

BATCH_BYTES, CARD_BYTES = 2**22, 2**27
"""Of the states of tests that run at a time: a processor needs no more to be busy, a card is to be full."""

FIRST_PACKS, GROWTH = 4, 8.0
"""Packs for each thread in the first block of a batch, which measures, and by how much the next may be
larger."""

CHUNK_SECONDS = 0.05
"""How long one call of a compiled loop may take: between calls progress is shown and Ctrl-C is heard."""

SHARE_SECONDS = 0.1
"""The same of one thread of a batch."""

THREADS = 128
"""Threads in a block of a graphics processor."""

FIRST_STEPS, LAUNCH_SECONDS = 500, 0.5
"""Ticks of the first launch there, and how long later ones may take."""
