/** potentials-or-negative-cycle: times that keep all difference rules, or a circle of rules that contradicts itself. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  size: number;
  /** t(to) - t(from) ≤ most. */
  rules: { from: number; to: number; most: number }[];
}

/** By level: events, rules. */
const SIZES = [
  [4, 7],
  [5, 11],
  [7, 17],
  [9, 26],
  [12, 40],
] as const;
/** Of the rules' bounds. */
const LOWEST = -6;
const HIGHEST = 14;
const LEAST_NEGATIVE = 2;

export const potentialsOrNegativeCycle = certificateRow<Problem>({
  id: "potentials-or-negative-cycle",
  asks: "times that keep all rules on differences, or a circle of rules that contradicts itself",
  draw(rng, level) {
    const [size, count] = at(SIZES, level - 1);
    const isCycle = rng.integer(2) === 0;
    const pairs = range(size).flatMap((a) => range(size).map((b) => ({ from: a + 1, to: b + 1 })));
    const chosen = sample(
      pairs.filter(({ from, to }) => from !== to),
      count,
      rng,
    ).toSorted((a, b) => a.from - b.from || a.to - b.to);
    // Bounds around differences of hidden times keep the rules consistent.
    const times = range(size).map(() => between(rng, -8, 8));
    const rules = chosen.map(({ from, to }) => {
      const loose = at(times, to - 1) - at(times, from - 1) + between(rng, 0, 3);
      return { from, to, most: isCycle ? between(rng, LOWEST, HIGHEST) : loose };
    });
    const problem = { size, rules };
    const { potentials, cycle } = judged(problem);
    if (isCycle !== (cycle !== null) || rules.filter(({ most }) => most < 0).length < LEAST_NEGATIVE) return null;
    if (cycle !== null && cycle.length < Math.min(level + 1, 4)) return null;
    const certificate = cycle === null ? `times: ${potentials.join(", ")}` : `circle: ${cycle.join(", ")}`;
    return { problem, certificate, steps: size * count };
  },
  proves({ size, rules }, answer) {
    const [, kind = "", list = ""] = /^(times|circle)\s*[:=]\s*([-+\d,\s]+)$/iu.exec(answer.trim()) ?? [];
    const values = list === "" ? null : integersIn(list);
    if (values === null) return false;
    if (kind.toLowerCase() === "times")
      return (
        values.length === size && rules.every(({ from, to, most }) => at(values, to - 1) - at(values, from - 1) <= most)
      );
    if (values.length > size || new Set(values).size < values.length) return false;
    const steps = values.map((from, index) => {
      const to = at(values, (index + 1) % values.length);
      return rules.find((rule) => rule.from === from && rule.to === to)?.most ?? Number.POSITIVE_INFINITY;
    });
    return steps.reduce((sum, most) => sum + most, 0) < 0;
  },
  prompts: [
    (one) =>
      `Events 1 to ${one.size} need whole-numbered times t1, t2, ... that obey\n${rulesText(one)}\nGive such times. If there are none, name a circle of events a, b, c, ... (each pair of neighbours, and last to first, has a rule t_b - t_a ≤ k) whose bounds k add up to less than 0. ${FORMAT}`,
    (one) =>
      `Decide whether this system of difference constraints is solvable over the integers, and prove the decision:\n${rulesText(one)}\nA negative cycle lists the indices in the direction from the subtracted one to the other. ${FORMAT}`,
    (one) =>
      `${FORMAT} The first kind is right if all of these can hold at once; the second is right if some of them, followed around from the second index of each line to its first index, have a negative sum of bounds:\n${rulesText(one)}`,
    (one) =>
      `The scheduler says: either I find integers t1..t${one.size}, or I show you a loop whose limits sum to a negative number. The limits are\n${rulesText(one)}\n(in a loop a, b, ... the limit of t_b - t_a is used, then that of the next pair, and finally the one from the last back to a). Which is it? ${FORMAT}`,
  ],
  slips({ size, rules }, certificate) {
    const [kind = "", list = ""] = certificate.split(": ");
    const values = list.split(", ");
    const firsts = [...new Set(rules.map(({ from }) => from))].slice(0, 3);
    return [
      `${kind}: ${values.toReversed().join(", ")}`,
      kind === "times"
        ? `circle: ${firsts.join(", ")}`
        : `times: ${range(size)
            .map(() => 0)
            .join(", ")}`,
      `${kind}: ${values.slice(1).join(", ")}`,
      list,
      `times: ${range(size).join(", ")}`,
    ];
  },
  variants: (_, certificate) => {
    const [kind = "", list = ""] = certificate.split(": ");
    const values = list.split(", ").map(Number);
    const moved = kind === "times" ? values.map((value) => value + 5) : [...values.slice(1), at(values, 0)];
    return [`${kind} = ${moved.join(", ")}`];
  },
});

const FORMAT = 'Write "times: t1, t2, ..." or "circle: a, b, c, ...".';

function rulesText({ rules }: Problem): string {
  return rules.map(({ from, to, most }) => `t${to} - t${from} ≤ ${most}`).join("\n");
}

/** Bellman and Ford from all events at once. */
function judged({ size, rules }: Problem): { potentials: number[]; cycle: number[] | null } {
  const potentials = range(size).map(() => 0);
  const before = range(size).map(() => 0);
  let changed = 0;
  for (const _ of range(size)) {
    changed = 0;
    for (const { from, to, most } of rules) {
      const next = at(potentials, from - 1) + most;
      if (next >= at(potentials, to - 1)) continue;
      potentials[to - 1] = next;
      before[to - 1] = from;
      changed = to;
    }
    if (changed === 0) return { potentials, cycle: null };
  }
  // After as many steps back as there are events the walk is inside the cycle.
  for (const _ of range(size)) changed = at(before, changed - 1);
  const cycle = [changed];
  for (let event = at(before, changed - 1); event !== changed; event = at(before, event - 1)) cycle.push(event);
  return { potentials, cycle: cycle.toReversed() };
}
