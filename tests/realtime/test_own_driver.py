"""A driver of one's own: the header beside it and those of a folder are found, and it knows its signals."""

import re

import pytest
from two_halves import LoopOptions, make_computer

from bondloop.errors import InputError
from bondloop.realtime import LoopProcess
from bondloop.realtime.programs.build import build_loop

DRIVER = """
#include <stdio.h>
#include "beside.h"
#include "elsewhere.h"
#include "link.h"

static int open_(bl_link_config *config, double *measured)
{
    (void)measured;
    snprintf(config->message, sizeof config->message, "%s: %s goes out, %s comes in, %d and %d are known",
        config->address, config->command_names[0], config->measured_names[0], BESIDE, ELSEWHERE);
    return BL_LINK_FAILED;
}

static int exchange(const double *commands, double *measured, bl_link_counts *counts)
{
    (void)commands, (void)measured, (void)counts;
    return BL_LINK_LOST;
}

static void close_(void) {}

const bl_link bl_link_mine = {"mine", BL_LINK_REAL_TIME, open_, exchange, close_};
"""


@pytest.fixture
def driver(tmp_path):
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "elsewhere.h").write_text("#define ELSEWHERE 7\n")
    (tmp_path / "beside.h").write_text("#define BESIDE 3\n")
    (tmp_path / "link_mine.c").write_text(DRIVER)
    return tmp_path / "link_mine.c"


def test_it_knows_its_signals_and_finds_its_headers(driver, table):
    folder = driver.parent / "headers"
    program = build_loop(make_computer("own_driver"), drivers=[driver], includes=[folder])
    words = "board: command goes out, measured.force comes in, 3 and 7 are known"
    with pytest.raises(InputError, match=re.escape(words)):
        LoopProcess(program, LoopOptions(link="mine://board"), table)
