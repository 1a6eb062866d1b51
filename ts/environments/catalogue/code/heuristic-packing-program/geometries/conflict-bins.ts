/** Things into bins of one size; some pairs may not share a bin. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, isEachOnce, sum } from "../geometry.ts";
import { GROUPS_PYTHON, groupsFound } from "../searches/groups.ts";

interface Rules {
  readonly cap: number;
  /** Most things of a bin. */
  readonly most: number;
  /** Percent of the cap of the largest thing, and pairs for each ten things. */
  readonly largest: number;
  readonly conflicts: number;
}

interface Data {
  readonly sizes: readonly number[];
  readonly pairs: readonly (readonly [number, number])[];
}

const ANY = 1_000;

export const conflictBins = defineGeometry<Rules, Data>({
  id: "conflict-bins",
  rules: (rng, sides) => ({
    cap: between(rng, 80, 160),
    most: sides === 2 ? between(rng, 3, 5) : ANY,
    largest: between(rng, 45, 65),
    conflicts: sides === 0 ? 5 : between(rng, 10, 30),
  }),
  draw,
  input: ({ sizes, pairs }, first) => [
    [sizes.length, pairs.length],
    sizes,
    ...pairs.map((pair) => pair.map((thing) => thing + first)),
  ],
  cost({ cap, most }, { sizes, pairs }, plan) {
    if (!isEachOnce(plan.flat(), sizes.length)) return null;
    const bin = new Map(plan.flatMap((things, index) => things.map((thing) => [thing, index] as const)));
    const isFull = plan.some((things) => things.length > most || sum(things.map((thing) => at(sizes, thing))) > cap);
    return isFull || pairs.some(([a, b]) => bin.get(a) === bin.get(b)) ? null : plan.length;
  },
  isThing: () => true,
  plain({ cap, most }, { sizes, pairs }) {
    const bins: number[][] = [];
    for (const thing of sizes.keys()) {
      const last = bins.at(-1);
      const isFree =
        last !== undefined &&
        last.length < most &&
        sum([...last, thing].map((one) => at(sizes, one))) <= cap &&
        !pairs.some(([a, b]) => (a === thing && last.includes(b)) || (b === thing && last.includes(a)));
      if (isFree) last.push(thing);
      else bins.push([thing]);
    }
    return bins;
  },
  search: ({ cap, most }, data, steps) =>
    groupsFound(
      { ...data, most, prices: range(cap + 1).map((load) => (load > 0 ? 1 : 0)), weight: 2 * cap * cap },
      steps,
    ),
  bound: ({ cap, most }, { sizes }) => Math.max(Math.ceil(sum(sizes) / cap), Math.ceil(sizes.length / most)),
  python: {
    constants: ({ cap, most }) => `CAP, MOST = ${cap}, ${most}`,
    plain: `def read():
    n, m = take(), take()
    return takes(n), [(take() - FIRST, take() - FIRST) for _ in range(m)]


def plain(sizes, pairs):
    bad = set(pairs) | {(b, a) for a, b in pairs}
    bins = []
    for i in range(len(sizes)):
        fits = bins and len(bins[-1]) < MOST and sum(sizes[j] for j in bins[-1]) + sizes[i] <= CAP
        if fits and not any((i, j) in bad for j in bins[-1]):
            bins[-1].append(i)
        else:
            bins.append([i])
    return [[i + FIRST for i in things] for things in bins]
`,
    search: `${GROUPS_PYTHON}

def search(sizes, pairs, steps):
    prices = [0] + [1] * CAP
    bins = grouped(sizes, pairs, MOST, prices, 2 * CAP * CAP, steps)
    return [[i + FIRST for i in things] for things in bins]
`,
  },
  stories: [
    "A chemist's shop sends bottles in crates. Some pairs of bottles must not travel in one crate.",
    "Programs are put on machines of equal memory. Some of them disturb each other and must be on different machines.",
    "A school seats groups of pupils in buses; a few groups cannot ride together.",
    "Files go onto tapes of one size, and files of the same safety copy must not lie on one tape.",
  ],
  task: ({ cap, most }) =>
    `Put each thing into one bin. The sizes in a bin add up to at most ${cap}${most < ANY ? `, a bin holds at most ${most} things` : ""}, and the two things of a conflict are in different bins. The cost is the number of bins.`,
  inputText:
    "The first line has the number of things and the number of conflicts; the next line has the sizes of the things; each further line has the two things of a conflict.",
  outputText: "one line for each bin, with the numbers of its things",
  plainText:
    "it goes through the things in their order, puts each into the bin it opened last where that is allowed, and opens another bin where it is not",
});

function draw(rng: Rng, { cap, largest, conflicts }: Rules, size: number): Data {
  const sizes = range(size).map(() => between(rng, Math.floor(cap / 10), Math.floor((cap * largest) / 100)));
  const pairs = new Map<number, [number, number]>();
  for (let turn = 0; turn < Math.floor((size * conflicts) / 10); turn++) {
    const [a, b] = [rng.integer(size), rng.integer(size)];
    if (a !== b) pairs.set(Math.min(a, b) * size + Math.max(a, b), [a, b]);
  }
  return { sizes, pairs: [...pairs.values()] };
}
