/** closest-revision: what is believed after a report that contradicts earlier beliefs, by the least number of changed facts. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

/** Facts with a sign; one of them at least holds. */
type Clause = { fact: number; holds: boolean }[];

interface Given {
  facts: number;
  beliefs: Clause[];
  report: Clause[];
}

/** By level: facts, clauses of the beliefs, of the report. */
const SIZES = [
  [5, 5, 3],
  [6, 7, 4],
  [7, 8, 5],
  [9, 10, 6],
  [11, 12, 8],
] as const;
const WORDS = ["true", "false", "open"];

export const closestRevision = fieldRow<Given>({
  id: "closest-revision",
  asks: "what is true, false or open after a report is accepted that contradicts earlier beliefs, with the fewest changed facts",
  draw,
  solve,
  isShared: true,
  values: () => "each value is true, false or open",
  wordings: [
    (one) =>
      `Earlier beliefs:\n${clauseList(one.beliefs)}\n\nA report says:\n${clauseList(one.report)}\n\n${RULE} Give the status of every fact afterwards.`,
    (one) => `${RULE}\n\nBefore:\n${clauseList(one.beliefs)}\nReliable news:\n${clauseList(one.report)}\n\nRevise.`,
    (one) =>
      `An archivist must accept\n${clauseList(one.report)}\nalthough the catalogue so far claimed\n${clauseList(one.beliefs)}\n${RULE} State which facts F1 to F${one.facts} hold after this.`,
    (one) =>
      `Revise a knowledge base by Dalal's operator. ${RULE}\nKnowledge base:\n${clauseList(one.beliefs)}\nNew information:\n${clauseList(one.report)}`,
  ],
});

const RULE =
  "A state says of each fact whether it holds. The distance of two states is the number of facts in which they differ. After the report exactly those states are possible that satisfy the whole report and, among all such states, have the least distance to some state that satisfies all earlier beliefs. A fact is true when it holds in all possible states, false when it holds in none, and open otherwise.";

function draw(rng: Rng, level: Level): Given | null {
  const [facts, before, after] = at(SIZES, level - 1);
  const clauses = (count: number, least: number): Clause[] =>
    range(count).map(() =>
      sample(range(facts), least + rng.integer(2), rng).map((fact) => ({ fact, holds: rng.integer(2) === 0 })),
    );
  return { facts, beliefs: clauses(before, 1), report: clauses(after, 2) };
}

function statesOf(facts: number, clauses: readonly Clause[]): number[] {
  return range(2 ** facts).filter((state) =>
    clauses.every((clause) => clause.some(({ fact, holds }) => ((state >> fact) & 1) === Number(holds))),
  );
}

function solve({ facts, beliefs, report }: Given): Solution | null {
  const before = statesOf(facts, beliefs);
  const after = statesOf(facts, report);
  if (before.length === 0 || after.length === 0) return null;
  const distance = (a: number, b: number): number => range(facts).filter((fact) => ((a ^ b) >> fact) & 1).length;
  const distances = after.map((state) => Math.min(...before.map((other) => distance(state, other))));
  const least = Math.min(...distances);
  if (least === 0) return null;
  const words = (states: readonly number[]): string[] =>
    range(facts).map((fact) => {
      const times = states.filter((state) => (state >> fact) & 1).length;
      return at(WORDS, times === states.length ? 0 : times === 0 ? 1 : 2);
    });
  const right = words(after.filter((_, index) => distances[index] === least));
  const counts = WORDS.map((word) => right.filter((one) => one === word).length);
  if (Math.max(...counts) > facts * 0.6) return null;
  const slips = [words(after), words(before)].filter((slip) => slip.join() !== right.join());
  return {
    fields: right.map((value, fact) => ({ name: `F${fact + 1}`, kind: "word", value, options: WORDS })),
    slips,
    steps: 2 ** facts * (beliefs.length + report.length) + before.length * after.length,
  };
}

function clauseList(clauses: readonly Clause[]): string {
  return clauses
    .map((clause) => `- ${clause.map(({ fact, holds }) => (holds ? `F${fact + 1}` : `not F${fact + 1}`)).join(" or ")}`)
    .join("\n");
}
