/** cron-firings: the next times at which a line of a crontab fires. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface CronProblem {
  fields: string[];
  /** Year, month, day, hour, minute. */
  after: number[];
  count: number;
}

/** By level: times asked for, and how many fields are restricted beside the minutes. */
const SIZES = [
  [2, 1],
  [3, 2],
  [4, 2],
  [5, 3],
  [7, 4],
] as const;
const BOUNDS = [
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 6],
] as const;
/** Days that a search goes through. */
const MOST_DAYS = 900;
const RULES =
  "The fields are minute, hour, day of the month, month and day of the week (0 is Sunday); a-b is a range, /n takes every nth value of it from its first one on. If both day fields are restricted (do not begin with *), the line fires on days that fit either of them; else a day must fit both.";

export const cronFirings = itemRow<CronProblem>({
  id: "cron-firings",
  asks: "the next times at which a crontab line with lists, steps and two day fields fires",
  form: "lines",
  tries: 20,
  make,
  prompts: [
    (one) =>
      `${one.fields.join(" ")} /usr/bin/job\n\n${RULES}\n\nWhen does this crontab line fire next after ${stamp(one.after)}? Give the next ${one.count} times, one a line, as YYYY-MM-DD HH:MM.`,
    (one) =>
      `It is ${stamp(one.after)}. ${RULES}\n\nList the ${one.count} next times (later than now) of the schedule\n\n${one.fields.join(" ")}\n\nin the form YYYY-MM-DD HH:MM, a line for each.`,
    (one) =>
      `Schedule: ${one.fields.join(" ")}\nNow: ${stamp(one.after)}\n\n${RULES} Write the first ${one.count} firings that come after now, YYYY-MM-DD HH:MM, in order, one per line.`,
    (one) =>
      `A daemon reads the line\n\n${one.fields.join(" ")} backup\n\n${RULES} Its log ends at ${stamp(one.after)}. Which ${one.count} entries follow? Format: YYYY-MM-DD HH:MM, one a line.`,
  ],
});

const two = (value: number): string => String(value).padStart(2, "0");

function stamp([year = 0, month = 0, day = 0, hour = 0, minute = 0]: readonly number[]): string {
  return `${year}-${two(month)}-${two(day)} ${two(hour)}:${two(minute)}`;
}

/** Values of a field. */
function valuesOf(text: string, [low, high]: readonly [number, number]): Set<number> {
  const values = text.split(",").flatMap((part) => {
    const [, star, from, to, step] = /^(?:(\*)|(\d+)(?:-(\d+))?)(?:\/(\d+))?$/u.exec(part) ?? [];
    const first = star === undefined ? Number(from) : low;
    const last = star === undefined ? Number(to ?? from) : high;
    return range(last - first + 1)
      .map((index) => first + index)
      .filter((value) => (value - first) % Number(step ?? 1) === 0);
  });
  return new Set(values);
}

const isLeap = (year: number): boolean => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
const lengthOf = (year: number, month: number): number =>
  month === 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;

/** Day of the week by Zeller's rule, 0 is Sunday. */
function weekday(year: number, month: number, day: number): number {
  const [y, m] = month < 3 ? [year - 1, month + 12] : [year, month];
  const sum = day + Math.floor((13 * (m + 1)) / 5) + y + Math.floor(y / 4) - Math.floor(y / 100) + Math.floor(y / 400);
  return (sum + 6) % 7;
}

type DayRule = "either" | "both";

/** The next times; fewer where the search ends. */
function firings({ fields, after, count }: CronProblem, forced?: DayRule): { times: string[]; days: number } {
  const [minutes, hours, days, months, weekdays] = fields.map((field, index) => valuesOf(field, at(BOUNDS, index)));
  const isRestricted = [2, 4].every((place) => !at(fields, place).startsWith("*"));
  const rule: DayRule = forced ?? (isRestricted ? "either" : "both");
  const now = stamp(after);
  const times: string[] = [];
  let [year = 0, month = 0, day = 0] = after;
  let seen = 0;
  for (; seen < MOST_DAYS && times.length < count; seen++) {
    const fits = [days?.has(day) === true, weekdays?.has(weekday(year, month, day)) === true];
    if (months?.has(month) === true && (rule === "either" ? fits.includes(true) : !fits.includes(false))) {
      for (const hour of [...(hours ?? [])].toSorted((a, b) => a - b))
        for (const minute of [...(minutes ?? [])].toSorted((a, b) => a - b)) {
          const text = stamp([year, month, day, hour, minute]);
          if (text > now && times.length < count) times.push(text);
        }
    }
    day += 1;
    if (day > lengthOf(year, month)) [month, day] = [month + 1, 1];
    if (month > 12) [year, month] = [year + 1, 1];
  }
  return { times, days: seen };
}

function drawField([low, high]: readonly [number, number], rng: Rng): string {
  const first = between(rng, low, Math.max(low, high - 2));
  const last = between(rng, first + 1, high);
  const step = between(rng, 2, Math.max(2, Math.floor((high - low) / 3)));
  return rng.pick([
    String(between(rng, low, high)),
    `${first}-${last}`,
    `${first}-${last}/${Math.max(2, Math.min(step, last - first))}`,
    `${first},${last}`,
    sample(
      range(high - low + 1).map((value) => value + low),
      3,
      rng,
    )
      .toSorted((a, b) => a - b)
      .join(","),
    `*/${step}`,
  ]);
}

function make(rng: Rng, level: Level) {
  const [count, restricted] = at(SIZES, level - 1);
  const chosen = new Set(sample([1, 2, 3, 4], restricted, rng));
  if (level >= 3) for (const place of [2, 4]) chosen.add(place);
  const fields = BOUNDS.map((bounds, index) => {
    if (index === 0) return rng.pick([String(between(rng, 0, 59)), `${between(rng, 0, 20)},${between(rng, 21, 59)}`]);
    return chosen.has(index) ? drawField(bounds, rng) : "*";
  });
  const month = between(rng, 1, 12);
  const after = [between(rng, 2023, 2032), month, between(rng, 1, 28), between(rng, 0, 23), between(rng, 0, 59)];
  const problem: CronProblem = { fields, after, count };
  const { times, days } = firings(problem);
  const spread = new Set(times.map((time) => time.slice(0, 10))).size;
  if (times.length < count || spread < Math.min(count, level)) return null;
  const isDouble = [2, 4].every((place) => !at(fields, place).startsWith("*"));
  const wrong = firings(problem, isDouble ? "both" : "either").times;
  const later = firings({ ...problem, after: [...after.slice(0, 3), 23, 59] }).times;
  const shifted = firings({
    ...problem,
    fields: fields.map((field, index) =>
      index === 4 && field !== "*" ? String((Number.parseInt(field.replace(/\D.*$/u, "") || "0", 10) + 1) % 7) : field,
    ),
  });
  const effort = Math.ceil(Math.sqrt(days)) + 3 * count + 4 * chosen.size + 6 * Number(isDouble);
  return { problem, items: times, misses: [wrong, later, shifted.times].filter((miss) => miss.length > 0), effort };
}
