/** What every project builds on: days, cycles, amounts, rounding. */
import type { Template } from "./template.ts";

export const LIB: readonly Template[] = [
  {
    path: "lib/calendar.py",
    text: String.raw`"""Days are numbers; day 0 has the weekday of the settings."""
from $pkg.lib.cycle import position
from $pkg.settings import CLOSED_WEEKDAYS, WEEKDAY_OF_ZERO

DAYS_OF_WEEK = 7


def weekday(day):
    """0 for the first day of a week to 6."""
    return position(day, «WEEKDAY_OF_ZERO|0|DAYS_OF_WEEK - WEEKDAY_OF_ZERO», DAYS_OF_WEEK)


def is_open(day):
    """Whether the desk is open."""
    return weekday(day) «not in CLOSED_WEEKDAYS|!= CLOSED_WEEKDAYS[0]|not in CLOSED_WEEKDAYS[1:]»


def next_open_day(day):
    """The day itself, where the desk is open."""
    while not is_open(day):
        day += 1
    return day


def open_days(after, until):
    """Open days after the first day, up to the last one."""
    return len([day for day in range(«after + 1|after», «until + 1|until») if is_open(day)])
`,
  },
  {
    path: "lib/cycle.py",
    text: String.raw`"""Things that come round again."""


def position(number, first, length):
    """Where a number stands in a cycle, if 0 stands at first; places are counted from 0 on."""
    return («number + first|number - first|number + first - 1|number + first + 1») % length
`,
  },
  {
    path: "lib/money.py",
    text: String.raw`"""Amounts are whole cents."""
from $pkg.lib.rounding import half_up


def divide(amount, parts):
    """A part of an amount, in whole cents."""
    return half_up(amount, «parts|parts + 1»)


def percent_of(amount, percent):
    """A share of an amount."""
    return divide(amount * percent, «100|10»)
`,
  },
  {
    path: "lib/rounding.py",
    text: String.raw`"""Divisions of whole numbers."""


def half_up(top, bottom):
    """The nearest whole number; halves go up."""
    return «(2 * top + bottom) // (2 * bottom)|top // bottom|(top + bottom - 1) // bottom|(2 * top + bottom - 1) // (2 * bottom)»
`,
  },
];
