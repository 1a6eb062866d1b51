/** pupil-misconception: the faulty rule of a pupil is found by well chosen exercises, and the course against it is assigned. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call, namesOf, recordName, recordOf } from "../records.ts";

/** Slips in column subtraction; a pupil has one or two of them. */
const SLIPS = {
  smaller: "takes the smaller digit of a column from the larger one, whichever stands above",
  keeps: "borrows ten without lowering the next digit",
  zero: "writes the lower digit where the upper one is 0",
  ninth: "does not lower a next digit that is 0 when borrowing, and borrows from the one after it",
  empty: "takes an empty place of the lower number for a 1",
  same: "writes 1 where both digits are equal",
  top: "leaves the first digit of the upper number as it is",
  units: "adds the units instead of subtracting them, and drops the carry",
} as const;
type Slip = keyof typeof SLIPS;

interface Instance {
  /** The pupil has all slips of one course. */
  courses: { id: string; slips: Slip[] }[];
  right: string;
  /** Exercises that tell the courses apart. */
  exercises: [number, number][];
  most: number;
  searched: number;
}

interface World {
  readonly instance: Instance;
  asked: number;
  readonly assigned: Set<string>;
}

/** By level: slips in use, courses, digits of an exercise. */
const SIZES = [
  [3, 3, 2],
  [4, 6, 3],
  [5, 10, 3],
  [7, 18, 4],
  [8, 30, 4],
] as const;
/** Exercises among which the gold script chooses. */
const POOL = 36;

const tools = {
  list_courses: worldTool<World, z.ZodObject>({
    description: "The courses, each against one or two habits",
    parameters: z.object({}),
    run: ({ instance }) => instance.courses.map(({ id, slips }) => ({ id, against: slips.map((slip) => SLIPS[slip]) })),
  }),
  exercise: worldTool({
    description: "Sets the pupil a subtraction, upper minus lower, and returns the answer",
    parameters: z.object({ upper: z.int().min(0).max(99_999), lower: z.int().min(0).max(99_999) }),
    run: (world: World, { upper, lower }) => {
      if (lower > upper) throw new Refusal("the upper number must not be the smaller one");
      if (world.asked >= world.instance.most) throw new Refusal("the pupil is tired");
      world.asked += 1;
      const { slips } = recordOf(world.instance.courses, world.instance.right, "course");
      return { answer: answered(upper, lower, slips), exercises_left: world.instance.most - world.asked };
    },
  }),
  assign: worldTool({
    description: "Assigns a course to the pupil",
    parameters: z.object({ course: recordName }),
    run: ({ instance, assigned }: World, { course }) => {
      recordOf(instance.courses, course, "course");
      assigned.add(course);
      return "assigned";
    },
  }),
};

export const pupilMisconception = defineWorldRow<Instance, World>({
  id: "pupil-misconception",
  asks: "find the faulty rules of a pupil by well chosen exercises and assign the course against them",
  make,
  effort: ({ courses, searched }) => courses.length + searched,
  canonical: ({ courses, right, most }) => [courses.map(({ id, slips }) => [id, slips]), right, most],
  prompts: [
    ({ most }) =>
      `A pupil subtracts in columns from the right and always makes the same mistakes, those of exactly one of the courses. Find out which by setting exercises, at most ${most} of them, and assign that course. Assigning another one, or more than one, is wrong. Digits are worked out column by column; where the pupil has no bad habit the work is correct.`,
    ({ most }) =>
      `You are a tutor. One course in the list describes the pupil completely: all habits in it, and no others. You may set up to ${most} subtractions. Choose them so that the answers tell the courses apart, then assign the single right course.`,
    ({ most }) =>
      `Diagnose before you teach: the pupil's wrong habits in column subtraction are those of a single course (if it names two habits, the pupil has both). Exercises available: ${most}. Assign exactly one course, the one that fits every answer.`,
    ({ most }) =>
      `Which course does the pupil need? Only the pupil's answers can show it. ${most} exercises may be set; choose upper and lower numbers with zeros, equal digits, missing places and borrowing as needed. One assignment counts, and it has to be the right one.`,
  ],
  tools,
  world: (instance) => ({ instance, asked: 0, assigned: new Set() }),
  gold: (instance) => script(instance, [instance.right]),
  slips: (instance) => {
    const others = instance.courses.map(({ id }) => id).filter((id) => id !== instance.right);
    return {
      "another course": script(instance, others.slice(0, 1)),
      "a course more": script(instance, [instance.right, ...others.slice(0, 1)]),
      "exercises without a course": script(instance, []),
      "all courses": script(instance, [instance.right, ...others]),
    };
  },
  blankets: (instance) => ({
    "the first course": [call("assign", { course: at(instance.courses, 0).id })],
    "the last course": [call("assign", { course: at(instance.courses, instance.courses.length - 1).id })],
    "all courses": instance.courses.map(({ id }) => call("assign", { course: id })),
  }),
  grade: ({ right }, { assigned }) => (assigned.size === 1 && assigned.has(right) ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [used, count, digits] = at(SIZES, level - 1);
  const known = sample(Object.keys(SLIPS) as Slip[], used, rng);
  const sets = [
    ...known.map((slip) => [slip]),
    ...known.flatMap((slip, index) => known.slice(index + 1).map((other) => [slip, other])),
  ];
  const chosen = sample(sets, count, rng);
  const courses = namesOf("course", chosen.length, rng).map((id, index) => ({ id, slips: at(chosen, index) }));
  const right = rng.pick(courses).id;
  const found = tellApart(courses, right, digits, rng);
  // A single exercise that decides everything would be luck.
  if (found === null || found.exercises.length < Math.min(2, level)) return null;
  return { courses: shuffled(courses, rng), right, ...found, most: found.exercises.length + 1 };
}

/** Exercises by which greedy choice separates the right course from all others: the largest class of answers is to be small. */
function tellApart(
  courses: Instance["courses"],
  right: string,
  digits: number,
  rng: Rng,
): Pick<Instance, "exercises" | "searched"> | null {
  const pool = range(POOL).map((): [number, number] => {
    const upper = drawNumber(digits, rng);
    const lower = drawNumber(between(rng, Math.max(1, digits - 1), digits), rng);
    return upper >= lower ? [upper, lower] : [lower, upper];
  });
  const exercises: [number, number][] = [];
  let left = [...courses];
  let searched = 0;
  while (left.length > 1) {
    let best: { exercise: [number, number]; worst: number } | null = null;
    for (const exercise of pool) {
      const counts = new Map<number, number>();
      for (const { slips } of left) {
        const answer = answered(...exercise, slips);
        counts.set(answer, (counts.get(answer) ?? 0) + 1);
      }
      searched += left.length;
      const worst = Math.max(...counts.values());
      if (best === null || worst < best.worst) best = { exercise, worst };
    }
    if (best === null || best.worst === left.length) return null;
    const { exercise } = best;
    const said = answered(...exercise, recordOf(courses, right, "course").slips);
    left = left.filter(({ slips }) => answered(...exercise, slips) === said);
    exercises.push(exercise);
  }
  return { exercises, searched };
}

/** Zeros are frequent, because many slips show only there. */
function drawNumber(digits: number, rng: Rng): number {
  const text = range(digits).map((index) => (index > 0 && rng.integer(3) === 0 ? 0 : between(rng, 1, 9)));
  return Number(text.join(""));
}

/** The answer of a pupil with these slips to upper - lower, column by column from the right. */
function answered(upper: number, lower: number, slips: readonly Slip[]): number {
  const has = (slip: Slip): boolean => slips.includes(slip);
  const above = columnsOf(upper);
  const below = columnsOf(lower);
  const written = columnsOf(upper);
  const result: number[] = [];
  for (const column of above.keys()) {
    const up = at(above, column);
    const low = below[column] ?? (has("empty") ? 1 : 0);
    const original = at(written, column);
    if (has("units") && column === 0) result.push((up + low) % 10);
    else if (has("top") && column === above.length - 1) result.push(original);
    else if (has("zero") && original === 0) result.push(low);
    else if (has("same") && up === low) result.push(1);
    else if (up >= low) result.push(up - low);
    else if (has("smaller")) result.push(low - up);
    else {
      result.push(up + 10 - low);
      if (!has("keeps")) borrow(above, column + 1, has("ninth"));
    }
  }
  return Number(result.toReversed().join(""));
}

/** Digits from the right. */
function columnsOf(value: number): number[] {
  return Array.from(String(value), Number).toReversed();
}

/** Lowers the digits from a column on; `skips`: zeros stay as they are. */
function borrow(digits: number[], from: number, skips: boolean): void {
  for (let column = from; column < digits.length; column++) {
    const digit = at(digits, column);
    if (digit > 0) {
      digits[column] = digit - 1;
      return;
    }
    if (!skips) digits[column] = 9;
  }
}

function script({ exercises }: Instance, courses: readonly string[]): Script {
  return [
    call("list_courses"),
    ...exercises.map(([upper, lower]) => call("exercise", { upper, lower })),
    ...courses.map((course) => call("assign", { course })),
  ];
}
