/** retracted-support-trace: results that lose all support when papers are withdrawn; results that only support each other are lost too. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { sentence } from "../documents.ts";
import { fieldRow, marked, marksOf, type Solution } from "../../field-row.ts";

interface Given {
  /** Ways in which each paper supports its result: sets of papers that are needed together. An empty set: measurements. */
  supports: number[][][];
  withdrawn: number[];
}

/** By level: papers, papers with measurements, withdrawn ones. */
const SIZES = [
  [10, 4, 2],
  [16, 6, 2],
  [24, 8, 3],
  [36, 12, 4],
  [54, 18, 6],
] as const;

export const retractedSupportTrace = fieldRow<Given>({
  id: "retracted-support-trace",
  asks: "the papers whose results have no support left after some papers were withdrawn",
  draw,
  solve,
  isShared: true,
  values: () => "the list of these papers, such as P3, P8",
  wordings: [
    (one, rng) =>
      `${shown(one, rng)}\n\n${NOTE} Now ${withdrawn(one)} are withdrawn. Which other papers lose their support?`,
    (one, rng) =>
      `The journal withdraws ${withdrawn(one)}. Find all papers, beyond these, whose results stand no longer.\n\n${NOTE}\n\n${shown(one, rng)}`,
    (one, rng) =>
      `Abstracts of a field:\n${shown(one, rng)}\n\nAfter a scandal ${withdrawn(one)} no longer count. ${NOTE} List the remaining papers that fall with them.`,
    (one, rng) =>
      `${NOTE}\n\nWho rests on whom:\n${shown(one, rng)}\n\nWithdrawn: ${withdrawn(one)}. Wanted: every other paper that has no valid line of argument any more.`,
  ],
});

const NOTE =
  "A result stands as long as one of its lines of argument stands: own measurements stand by themselves, and an argument from other papers stands when all of these papers stand. Papers that rest only on one another have no support.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, measured, gone] = at(SIZES, level - 1);
  const supports = range(count).map((paper) => {
    if (paper < measured) return [[]];
    const before = range(paper);
    const near = before.slice(-10);
    const first = sample(near, between(rng, 1, 2), rng);
    const ways = [first];
    if (rng.integer(2) === 0) ways.push(sample(before, between(rng, 1, 3), rng));
    // A line of argument from a later paper closes a circle.
    if (rng.integer(3) === 0 && paper + 1 < count) ways.push([between(rng, paper + 1, Math.min(count - 1, paper + 5))]);
    return ways;
  });
  const places = shuffled(range(count), rng);
  const renamed: number[][][] = range(count).map(() => []);
  for (const [paper, ways] of supports.entries())
    renamed[at(places, paper)] = shuffled(
      ways.map((way) => way.map((other) => at(places, other))),
      rng,
    );
  const withdrawnPapers = sample(range(count), gone, rng).toSorted((a, b) => a - b);
  return { supports: renamed, withdrawn: withdrawnPapers };
}

function solve({ supports, withdrawn: gone }: Given): Solution | null {
  const count = supports.length;
  const marks = marksOf("P", count);
  const standing = fixpoint(supports, gone);
  const lost = range(count).filter((paper) => !standing.has(paper) && !gone.includes(paper));
  if (lost.length < 2 || lost.length > count / 4) return null;
  const reached = new Set(gone);
  for (const _ of range(count))
    for (const [paper, ways] of supports.entries())
      if (ways.some((way) => way.some((other) => reached.has(other)))) reached.add(paper);
  const optimistic = new Set(range(count).filter((paper) => !gone.includes(paper)));
  for (const _ of range(count))
    for (const paper of range(count))
      if (!at(supports, paper).some((way) => way.every((other) => optimistic.has(other)))) optimistic.delete(paper);
  const circular = range(count).filter((paper) => !optimistic.has(paper) && !gone.includes(paper));
  const isCircleHard = circular.length < lost.length;
  const downstream = [...reached].filter((paper) => !gone.includes(paper));
  const named = (papers: readonly number[]): string =>
    marked(papers.toSorted((a, b) => a - b).map((paper) => at(marks, paper)));
  return {
    fields: [{ name: "papers", kind: "set", value: named(lost), options: marks }],
    slips: [
      [named(downstream)],
      ...(isCircleHard && circular.length > 0 ? [[named(circular)]] : []),
      [named([...lost, ...gone])],
    ],
    steps: supports.flat(2).length + count,
  };
}

/** Papers that stand: from measurements upwards, so circles do not hold themselves. */
function fixpoint(supports: readonly number[][][], gone: readonly number[]): Set<number> {
  const standing = new Set<number>();
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const [paper, ways] of supports.entries()) {
      if (standing.has(paper) || gone.includes(paper) || !ways.some((way) => way.every((other) => standing.has(other))))
        continue;
      standing.add(paper);
      isChanged = true;
    }
  }
  return standing;
}

function withdrawn({ withdrawn: gone }: Given): string {
  return gone.map((paper) => `P${paper + 1}`).join(" and ");
}

function shown({ supports }: Given, rng: Rng): string {
  return supports
    .map((ways, paper) => {
      const texts = ways.map((way) => {
        const papers = way.map((other) => `P${other + 1}`).join(" with ");
        if (way.length === 0)
          return rng.pick([
            "we measured this directly",
            "our own measurements show it",
            "it was observed in our experiments",
          ]);
        return rng.pick([
          `the result is derived from ${papers}`,
          `it follows from ${papers}`,
          `${papers} ${way.length > 1 ? "together prove" : "proves"} it`,
        ]);
      });
      return `P${paper + 1}: ${sentence(texts.join("; independently of that, "))}`;
    })
    .join("\n");
}
