/** schedule-slack-reading: length, critical jobs and slack of a project from notes, and the effect of a delay. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { bullets, inWords } from "../documents.ts";

interface Job {
  days: number;
  /** Jobs that end before, with the days that have to pass in between. */
  after: { job: number; wait: number }[];
}

interface Given {
  /** Jobs in an order in which none stands before one that it needs. */
  jobs: Job[];
  /** Letters of the jobs. */
  marks: string[];
  late: number;
  delay: number;
  loose: number;
}

/** By level: jobs, most predecessors, whether there are waiting times. */
const SIZES = [
  [5, 2, false],
  [7, 2, false],
  [10, 3, false],
  [14, 3, true],
  [20, 3, true],
] as const;
const LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ".split("");

export const scheduleSlackReading = fieldRow<Given>({
  id: "schedule-slack-reading",
  asks: "length, critical jobs and slack of a project from scattered notes, and its length after a delay",
  draw,
  solve,
  values: () => "end, slack and late are whole numbers of days, and critical lists letters separated by commas",
  wordings: [
    (one) => `Notes about a project:\n${notes(one)}\n${questions(one)}`,
    (one) => `${questions(one)}\n\nWhat is known about the jobs:\n${notes(one)}`,
    (one) => `The site manager's papers, in no order:\n${notes(one)}\n\n${questions(one)}`,
    (one) => `A plan for the critical path method:\n${notes(one)}\n\n${questions(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, most, waits] = at(SIZES, level - 1);
  const jobs = range(count).map((job): Job => {
    const earlier = range(job).slice(-6);
    const after = job === 0 ? [] : sample(earlier, between(rng, job < 2 ? 0 : 1, Math.min(most, job)), rng);
    return {
      days: between(rng, 2, 15),
      after: after
        .toSorted((a, b) => a - b)
        .map((one) => ({ job: one, wait: waits && rng.integer(4) === 0 ? between(rng, 1, 5) : 0 })),
    };
  });
  const { slack } = planned(jobs);
  const [late, loose] = sample(
    range(count).filter((job) => at(slack, job) > 0),
    2,
    rng,
  );
  if (late === undefined || loose === undefined) return null;
  // The delay uses slack up and then moves the end.
  const delay = at(slack, late) + between(rng, 1, 6);
  return { jobs, marks: shuffled(LETTERS, rng).slice(0, count), late, delay, loose };
}

function solve({ jobs, marks, late, delay, loose }: Given): Solution | null {
  const plan = planned(jobs);
  const later = planned(jobs.map((job, index) => (index === late ? { ...job, days: job.days + delay } : job)));
  const critical = range(jobs.length).filter((job) => at(plan.slack, job) === 0);
  const slack = at(plan.slack, loose);
  const options = marks.toSorted();
  const list = (some: readonly number[]): string =>
    marked(options.filter((mark) => some.some((job) => at(marks, job) === mark)));
  const values = [String(plan.end), list(critical), String(slack), String(later.end)];
  const [end = "", path = "", free = ""] = values;
  const sum = jobs.reduce((all, { days }) => all + days, 0);
  return {
    fields: [
      { name: "end", kind: "number", value: end },
      { name: "critical", kind: "set", value: path, options },
      { name: "slack", kind: "number", value: free },
      { name: "late", kind: "number", value: at(values, 3) },
    ],
    slips: [
      [end, path, free, String(plan.end + delay)],
      [end, path, free, end],
      [String(sum), path, free, at(values, 3)],
      [end, path, String(slack + 1), at(values, 3)],
    ],
    steps: jobs.reduce((all, { after }) => all + 1 + 2 * after.length, 0),
  };
}

function planned(jobs: readonly Job[]): { end: number; slack: number[] } {
  const ends: number[] = [];
  for (const { days, after } of jobs)
    ends.push(days + Math.max(0, ...after.map(({ job, wait }) => at(ends, job) + wait)));
  const end = Math.max(...ends);
  const latest = jobs.map(() => end);
  for (const index of range(jobs.length).toReversed()) {
    const { days, after } = at(jobs, index);
    for (const { job, wait } of after) latest[job] = Math.min(at(latest, job), at(latest, index) - days - wait);
  }
  return { end, slack: ends.map((own, index) => at(latest, index) - own) };
}

function notes({ jobs, marks }: Given): string {
  const order = marks.map((_, index) => index).toSorted((a, b) => (at(marks, a) < at(marks, b) ? -1 : 1));
  return bullets(
    order.map((index) => {
      const { days, after } = at(jobs, index);
      const needs = after.map(
        ({ job, wait }) => `${at(marks, job)}${wait === 0 ? "" : ` (and then ${wait} more days of waiting)`}`,
      );
      return `${at(marks, index)} takes ${days} days${needs.length === 0 ? " and needs nothing" : ` and can begin when ${inWords(needs)} ${needs.length === 1 ? "is" : "are"} done`}`;
    }),
  );
}

function questions({ marks, late, delay, loose }: Given): string {
  return `Any number of jobs can go on at the same time, and every job starts as soon as it may. Wanted: end, the days until all is done; critical, all jobs without any slack; slack, by how many days ${at(marks, loose)} alone can be late without moving the end; late, the days until all is done if ${at(marks, late)} takes ${delay} days more than planned.`;
}
