/** calendar-function: a due date by steps on civil dates, with business days, holidays and month ends. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { MONTHS } from "../../months.ts";
import { functionRow } from "../function-row.ts";
import { listed, numbered, ordinal } from "../prose.ts";

type Step =
  | { readonly kind: "days" | "months" | "business-days"; readonly by: number }
  | { readonly kind: "weekday"; readonly weekday: number; readonly strictly: boolean }
  | { readonly kind: "nth-weekday"; readonly weekday: number; readonly by: number }
  | { readonly kind: "month-end" }
  | { readonly kind: "roll"; readonly way: "following" | "preceding" | "modified" };

interface Spec {
  readonly steps: readonly Step[];
  /** [month, day], every year. */
  readonly holidays: readonly (readonly [number, number])[];
  /** 0 is Monday. */
  readonly weekend: readonly number[];
}

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const COUNTS = [1, 2, 3, 4, 6];

export const calendarFunction = functionRow<Spec>({
  id: "calendar-function",
  asks: "a due date by month ends, weekdays, business days, holidays and roll rules",
  name: "due_date",
  parameters: ["year", "month", "day"],
  make(rng, level) {
    const steps = range(at(COUNTS, level - 1)).map(() => drawStep(rng, level));
    if (steps.every(({ kind }) => kind === "days")) return null;
    const business = steps.some(({ kind }) => kind === "business-days" || kind === "roll");
    const holidays =
      business && level >= 2
        ? range(2 + level).map((): [number, number] => [between(rng, 1, 12), between(rng, 1, 28)])
        : [];
    return { steps, holidays, weekend: rng.pick([[5, 6], [5, 6], [4, 5], [6]]) };
  },
  effort: ({ steps, holidays }) =>
    holidays.length + steps.reduce((sum, { kind }) => sum + (kind === "roll" || kind === "business-days" ? 4 : 3), 0),
  stories: [
    () => "An invoice gets its due date from the date of delivery.",
    () => "The back office computes settlement dates by the rules of the contract.",
    () => "Take a date of the Gregorian calendar and apply steps to it.",
    () => "A reminder service derives the day of the reminder from a start date.",
  ],
  rules: ({ steps, holidays, weekend }) => {
    const business = `A business day is a day that is not a ${listed(
      weekend.map((day) => at(WEEKDAYS, day)),
      "or",
    )}${holidays.length === 0 ? "" : ` and no holiday; holidays are, in every year, ${listed(holidays.map(([month, day]) => `${at(MONTHS, month - 1)} ${day}`))}`}.`;
    const needed = steps.some(({ kind }) => kind === "business-days" || kind === "roll");
    return `Apply these steps in their order, each to the date that the one before gave:\n\n${numbered(steps.map(stepText))}${needed ? `\n\n${business}` : ""}`;
  },
  types: () =>
    "The arguments are whole numbers, a valid date between 1950 and 2080. The result is the list [year, month, day].",
  calls: (spec, rng) => ({
    any: range(16).map(() => dateOf(between(rng, -7_000, 40_000))),
    ends: range(14).map(() => {
      const [year, month] = [between(rng, 1951, 2079), between(rng, 1, 12)];
      return [year, month, lengthOf(year, month) - rng.integer(3)];
    }),
    leap: range(12).map((turn) => [4 * between(rng, 488, 519), 2, 27 + (turn % 3)]),
    years: range(10).map((turn) => [
      between(rng, 1951, 2079),
      turn % 2 === 0 ? 12 : 1,
      turn % 2 === 0 ? between(rng, 24, 31) : between(rng, 1, 5),
    ]),
    holidays: range(10).map(() => {
      const [month, day] = spec.holidays.length === 0 ? [5, 1] : rng.pick(spec.holidays);
      return dateOf(dayOf(between(rng, 1951, 2079), month, day) + between(rng, -3, 3));
    }),
  }),
  solve: (spec, [year, month, day]) => dueDate(spec, [year as number, month as number, day as number]),
  python,
  slips: (spec) => [
    ...spec.steps.map((_, index) => ({ ...spec, steps: spec.steps.filter((__, place) => place !== index) })),
    { ...spec, holidays: [] },
    { ...spec, weekend: spec.weekend.length === 1 ? [5, 6] : [6] },
    { ...spec, steps: [...spec.steps].reverse() },
    {
      ...spec,
      steps: spec.steps.map((step): Step => (step.kind === "months" ? { kind: "days", by: 30 * step.by } : step)),
    },
    {
      ...spec,
      steps: spec.steps.map((step): Step => (step.kind === "weekday" ? { ...step, strictly: !step.strictly } : step)),
    },
    {
      ...spec,
      steps: spec.steps.map((step): Step =>
        step.kind === "roll" ? { ...step, way: step.way === "following" ? "modified" : "following" } : step,
      ),
    },
    { ...spec, steps: spec.steps.map((step): Step => ("by" in step ? { ...step, by: byOneMore(step) } : step)) },
    { ...spec, steps: [...spec.steps, { kind: "days", by: 1 }] },
    { ...spec, steps: [...spec.steps, { kind: "month-end" }] },
  ],
});

function drawStep(rng: Rng, level: number): Step {
  const simple = ["months", "weekday", "month-end", "days"] as const;
  const hard = ["months", "weekday", "nth-weekday", "roll", "business-days", "month-end"] as const;
  const [kind] = sample<(typeof simple)[number] | (typeof hard)[number]>(level === 1 ? simple : hard, 1, rng);
  switch (kind) {
    case "months":
      return { kind, by: between(rng, 1, 14) };
    case "weekday":
      return { kind, weekday: rng.integer(7), strictly: rng.integer(2) === 0 };
    case "nth-weekday":
      return { kind, weekday: rng.integer(7), by: between(rng, 1, 5) };
    case "roll":
      return { kind, way: rng.pick(["following", "preceding", "modified"] as const) };
    case "business-days":
      return { kind, by: between(rng, 1, 15) };
    case "days":
      return { kind, by: between(rng, 5, 90) };
    default:
      return { kind: "month-end" };
  }
}

/** No month has a sixth weekday of a name, so the first follows the fifth. */
function byOneMore({ kind, by }: Step & { readonly by: number }): number {
  return kind === "nth-weekday" ? (by % 5) + 1 : by + 1;
}

function stepText(step: Step): string {
  switch (step.kind) {
    case "days":
      return `Add ${step.by} days.`;
    case "months":
      return `Add ${step.by} calendar months and keep the day of the month; if that month is too short, take its last day.`;
    case "business-days":
      return `Go forward to the ${ordinal(step.by)} business day after the date.`;
    case "weekday":
      return `Go to the first ${at(WEEKDAYS, step.weekday)} ${step.strictly ? "after the date" : "on or after the date"}.`;
    case "nth-weekday":
      return `Go to the ${ordinal(step.by)} ${at(WEEKDAYS, step.weekday)} of the month of the date${step.by === 5 ? ", or to its last one if it has only four" : ""}.`;
    case "month-end":
      return "Go to the last day of the month.";
    case "roll":
      return {
        following: "If the date is no business day, go to the next one.",
        preceding: "If the date is no business day, go back to the last one before it.",
        modified:
          "If the date is no business day, go to the next one; but if that is in another month, go back to the last business day before the date instead.",
      }[step.way];
  }
}

/** Days since 1970-01-01 of the proleptic Gregorian calendar (Howard Hinnant's `days_from_civil`). */
function dayOf(year: number, month: number, day: number): number {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const ofEra = y - era * 400;
  const ofYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return era * 146_097 + ofEra * 365 + Math.floor(ofEra / 4) - Math.floor(ofEra / 100) + ofYear - 719_468;
}

function dateOf(days: number): [number, number, number] {
  let year = 1970 + Math.floor(days / (days < 0 ? 365 : 366));
  while (dayOf(year + 1, 1, 1) <= days) year += 1;
  let month = 1;
  while (month < 12 && dayOf(year, month + 1, 1) <= days) month += 1;
  return [year, month, days - dayOf(year, month, 1) + 1];
}

function lengthOf(year: number, month: number): number {
  return month === 12 ? 31 : dayOf(year, month + 1, 1) - dayOf(year, month, 1);
}

const weekdayOf = (days: number): number => (((days + 3) % 7) + 7) % 7;

function dueDate(spec: Spec, [year, month, day]: readonly [number, number, number]): number[] {
  const isBusiness = (days: number): boolean => {
    const [, itsMonth, itsDay] = dateOf(days);
    return !spec.weekend.includes(weekdayOf(days)) && !spec.holidays.some(([m, d]) => m === itsMonth && d === itsDay);
  };
  const seek = (days: number, by: 1 | -1): number => (isBusiness(days) ? days : seek(days + by, by));
  let now = dayOf(year, month, day);
  for (const step of spec.steps) now = afterStep(step, now, seek);
  return dateOf(now);
}

function afterStep(step: Step, now: number, seek: (days: number, by: 1 | -1) => number): number {
  const [year, month, day] = dateOf(now);
  switch (step.kind) {
    case "days":
      return now + step.by;
    case "months": {
      const [y, m] = [year + Math.floor((month - 1 + step.by) / 12), ((month - 1 + step.by) % 12) + 1];
      return dayOf(y, m, Math.min(day, lengthOf(y, m)));
    }
    case "business-days":
      return range(step.by).reduce((days) => seek(days + 1, 1), now);
    case "weekday": {
      const from = step.strictly ? now + 1 : now;
      return from + ((step.weekday - weekdayOf(from) + 7) % 7);
    }
    case "nth-weekday": {
      const begin = dayOf(year, month, 1);
      const found = begin + ((step.weekday - weekdayOf(begin) + 7) % 7) + 7 * (step.by - 1);
      return found < begin + lengthOf(year, month) ? found : found - 7;
    }
    case "month-end":
      return dayOf(year, month, lengthOf(year, month));
    case "roll": {
      const [next, before] = [seek(now, 1), seek(now, -1)];
      if (step.way === "modified") return dateOf(next)[1] === month ? next : before;
      return step.way === "following" ? next : before;
    }
  }
}

function python({ steps, holidays, weekend }: Spec): string {
  const lines = steps.flatMap((step): string[] => {
    switch (step.kind) {
      case "days":
        return [`now += timedelta(days=${step.by})`];
      case "months":
        return [
          `index = now.year * 12 + now.month - 1 + ${step.by}`,
          "year, month = index // 12, index % 12 + 1",
          "now = date(year, month, min(now.day, calendar.monthrange(year, month)[1]))",
        ];
      case "business-days":
        return [`for _ in range(${step.by}):`, "    now = seek(now + timedelta(days=1), 1)"];
      case "weekday":
        return [
          ...(step.strictly ? ["now += timedelta(days=1)"] : []),
          `while now.weekday() != ${step.weekday}:`,
          "    now += timedelta(days=1)",
        ];
      case "nth-weekday":
        return [
          "length = calendar.monthrange(now.year, now.month)[1]",
          `days = [d for d in range(1, length + 1) if date(now.year, now.month, d).weekday() == ${step.weekday}]`,
          `now = now.replace(day=days[min(${step.by}, len(days)) - 1])`,
        ];
      case "month-end":
        return ["now = now.replace(day=calendar.monthrange(now.year, now.month)[1])"];
      case "roll":
        if (step.way !== "modified") return [`now = seek(now, ${step.way === "following" ? 1 : -1})`];
        return ["later = seek(now, 1)", "now = later if later.month == now.month else seek(now, -1)"];
    }
  });
  return `import calendar
from datetime import date, timedelta

HOLIDAYS = {${holidays.map(([month, day]) => `(${month}, ${day})`).join(", ")}}

def seek(now, step):
    while now.weekday() in (${weekend.join(", ")},) or (now.month, now.day) in HOLIDAYS:
        now += timedelta(days=step)
    return now

def due_date(year, month, day):
    now = date(year, month, day)
${lines.map((line) => `    ${line}`).join("\n")}
    return [now.year, now.month, now.day]`;
}
