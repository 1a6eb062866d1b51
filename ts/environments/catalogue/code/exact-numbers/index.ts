/** Programs that compute exactly in described number systems, units, calendars and roundings. */
import type { Family, ProgramRow } from "../../row.ts";
import { decimalRounding } from "./decimal-rounding.ts";
import { inventedCalendar } from "./invented-calendar.ts";
import { longArithmetic } from "./long-arithmetic.ts";
import { numeralSystem } from "./numeral-system.ts";
import { unitSums } from "./unit-sums.ts";

export const exactNumbers: Family<ProgramRow> = {
  id: "exact-numbers",
  rows: [longArithmetic, decimalRounding, inventedCalendar, numeralSystem, unitSums],
};
