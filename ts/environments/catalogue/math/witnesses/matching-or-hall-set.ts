/** matching-or-hall-set: a complete matching, or a set with too few partners; either is checked along the edges. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";

interface Problem {
  /** The jobs that each person can do, both counted from 0. */
  skills: number[][];
  jobs: number;
}

/** By level: persons, jobs, least and greatest number of skills of a person. */
const SIZES = [
  [5, 5, 2, 2],
  [7, 7, 2, 3],
  [9, 10, 2, 3],
  [12, 13, 2, 3],
  [15, 16, 2, 4],
] as const;

export const matchingOrHallSet = certificateRow<Problem>({
  id: "matching-or-hall-set",
  asks: "an assignment of persons to different jobs, or a set of persons with too few jobs between them",
  draw(rng, level) {
    const [persons, jobs, least, most] = at(SIZES, level - 1);
    const isShort = rng.integer(2) === 0;
    const skills = range(persons).map(() => sample(range(jobs), least + rng.integer(most - least + 1), rng));
    if (isShort) plantShortage(skills, jobs, rng);
    const problem = { skills: shuffled(skills, rng).map((list) => list.toSorted((a, b) => a - b)), jobs };
    const { matched, short } = matchingOf(problem);
    if (isShort !== short.length > 0 || (short.length > 0 && short.length < 3)) return null;
    const certificate =
      short.length > 0
        ? `short: ${short.map((person) => person + 1).join(", ")}`
        : `jobs: ${matched.map((job) => letter(job)).join(", ")}`;
    return { problem, certificate, steps: skills.flat().length * persons };
  },
  proves({ skills, jobs }, answer) {
    const [, kind = "", list = ""] = /^(jobs|short)\s*[:=]\s*([A-Za-z0-9,\s]+)$/iu.exec(answer.trim()) ?? [];
    const marks = list.trim().split(/\s*,\s*/u);
    if (new Set(marks).size < marks.length || marks.length > skills.length) return false;
    if (kind.toLowerCase() === "jobs") {
      const taken = marks.map((mark) => (/^[A-Z]$/u.test(mark) ? mark.charCodeAt(0) - A : -1));
      return (
        taken.length === skills.length && taken.every((job, person) => job < jobs && at(skills, person).includes(job))
      );
    }
    const persons = marks.map((mark) => (/^\d{1,3}$/u.test(mark) ? Number(mark) - 1 : -1));
    if (kind === "" || persons.some((person) => skills[person] === undefined)) return false;
    return new Set(persons).size === persons.length && partners(skills, persons).size < persons.length;
  },
  canonical: ({ skills }) => skills.map((list) => list.join(",")).toSorted(),
  prompts: [
    (one) =>
      `Persons 1 to ${one.skills.length} can do these jobs:\n${skillText(one)}\nEither give every person a job of their own, or prove that this is impossible by a set of persons who together can do fewer jobs than they are. ${FORMAT}`,
    (one) =>
      `A bipartite graph joins the numbers 1..${one.skills.length} to letters:\n${skillText(one)}\nIs there a matching that covers all numbers? Show it, or show a set of numbers that violates Hall's condition. ${FORMAT}`,
    (one) =>
      `${FORMAT} Which of the two is right depends on the skills below: no job may be done by two persons, and everybody needs one.\n${skillText(one)}`,
    (one) =>
      `Each machine (number) accepts only some tools (letters):\n${skillText(one)}\nAll machines shall run at once with different tools. State a plan; if there is none, name machines whose tools, taken together, are fewer than these machines. ${FORMAT}`,
  ],
  slips({ skills }, certificate) {
    const [head = "", list = ""] = certificate.split(": ");
    const marks = list.split(", ");
    const others =
      head === "jobs"
        ? `short: ${range(skills.length)
            .map((index) => index + 1)
            .join(", ")}`
        : `jobs: ${skills.map(([first = 0]) => letter(first)).join(", ")}`;
    return [
      others,
      `${head}: ${marks.slice(1).join(", ")}`,
      `${head}: ${[...marks, at(marks, 0)].join(", ")}`,
      list,
      `${head}: ${marks.toReversed().join(", ")}`,
    ];
  },
  variants: (_, certificate) => [certificate.replace(": ", " = ")],
});

const A = 65;
const FORMAT =
  'Write "jobs: " and the letters for 1, 2, 3, ... in this order, separated by commas; or "short: " and the numbers of the set, separated by commas.';

function letter(job: number): string {
  return String.fromCharCode(A + job);
}

/** Some persons get skills among fewer jobs than they are. */
function plantShortage(skills: number[][], jobs: number, rng: Rng): void {
  const size = 3 + rng.integer(Math.max(1, Math.floor(skills.length / 2) - 2));
  const few = sample(range(jobs), size - 1, rng);
  for (const person of range(size)) skills[person] = sample(few, Math.min(few.length, at(skills, person).length), rng);
}

function partners(skills: readonly number[][], persons: readonly number[]): Set<number> {
  return new Set(persons.flatMap((person) => at(skills, person)));
}

/** Augmenting paths; where one is missing, the persons that it reached are too many for their jobs. */
function matchingOf({ skills, jobs }: Problem): { matched: number[]; short: number[] } {
  const owner = range(jobs).map(() => -1);
  for (const person of range(skills.length)) {
    const seen = new Set<number>();
    const reached = new Set<number>();
    const place = (one: number): boolean => {
      reached.add(one);
      for (const job of at(skills, one)) {
        if (seen.has(job)) continue;
        seen.add(job);
        const holder = at(owner, job);
        if (holder >= 0 && !place(holder)) continue;
        owner[job] = one;
        return true;
      }
      return false;
    };
    if (!place(person)) return { matched: [], short: [...reached].toSorted((a, b) => a - b) };
  }
  return { matched: range(skills.length).map((person) => owner.indexOf(person)), short: [] };
}

function skillText({ skills }: Problem): string {
  return skills.map((list, person) => `${person + 1}: ${list.map(letter).join(" ")}`).join("\n");
}
