/** Jobs in sequence on equal lines; what a change from one job to the next costs depends on both. */
import { between } from "../../../../../random/draws.ts";
import { at, range } from "../../../lists.ts";
import { defineGeometry, isEachOnce, sum } from "../geometry.ts";
import { ROUTES_PYTHON, routesFound, stepCost } from "../searches/routes.ts";

interface Rules {
  readonly cap: number;
  readonly most: number;
  readonly price: number;
  /** For each shade darker, for each shade lighter, and for another tool. */
  readonly darker: number;
  readonly lighter: number;
  readonly tool: number;
}

type Job = readonly [minutes: number, shade: number, tool: number];

interface Data {
  readonly jobs: readonly Job[];
}

const ANY = 1_000;

export const changeoverLines = defineGeometry<Rules, Data>({
  id: "changeover-lines",
  rules: (rng, sides) => ({
    cap: between(rng, 300, 480),
    most: sides === 2 ? between(rng, 8, 12) : ANY,
    price: between(rng, 20, 80),
    darker: between(rng, 1, 3),
    lighter: between(rng, 3, 7),
    tool: sides === 0 ? 0 : between(rng, 10, 40),
  }),
  draw: (rng, _, size) => ({
    jobs: range(size).map((): Job => [between(rng, 10, 60), between(rng, 1, 40), between(rng, 1, 6)]),
  }),
  input: ({ jobs }) => [[jobs.length], ...jobs],
  cost(rules, data, plan) {
    if (!isEachOnce(plan.flat(), data.jobs.length)) return null;
    const isBad = (line: readonly number[]): boolean =>
      line.length > rules.most || sum(line.map((job) => at(data.jobs, job)[0])) > rules.cap;
    return plan.some(isBad) ? null : stepCost({ steps: stepsOf(rules, data), price: rules.price }, plan);
  },
  isThing: () => true,
  plain({ cap, most }, { jobs }) {
    const lines: number[][] = [];
    let used = 0;
    for (const [index, [minutes]] of jobs.entries()) {
      const last = lines.at(-1);
      if (last !== undefined && used + minutes <= cap && last.length < most) {
        last.push(index);
        used += minutes;
      } else {
        lines.push([index]);
        used = minutes;
      }
    }
    return lines;
  },
  search: (rules, data, moves) =>
    routesFound({ ...rules, steps: stepsOf(rules, data), loads: data.jobs.map(([minutes]) => minutes) }, moves),
  bound: ({ cap, price }, { jobs }) => price * Math.ceil(sum(jobs.map(([minutes]) => minutes)) / cap),
  python: {
    constants: ({ cap, most, price, darker, lighter, tool }) =>
      `CAP, MOST, PRICE, DARKER, LIGHTER, TOOL = ${[cap, most, price, darker, lighter, tool].join(", ")}`,
    plain: `def read():
    return ([takes(3) for _ in range(take())],)


def plain(jobs):
    lines, used = [], 0
    for i, (minutes, shade, tool) in enumerate(jobs):
        if lines and used + minutes <= CAP and len(lines[-1]) < MOST:
            lines[-1].append(i)
            used += minutes
        else:
            lines.append([i])
            used = minutes
    return [[i + FIRST for i in line] for line in lines]
`,
    search: `${ROUTES_PYTHON}

def change(a, b):
    d = b[1] - a[1]
    return (DARKER * d if d > 0 else -LIGHTER * d) + (TOOL if a[2] != b[2] else 0)


def search(jobs, steps):
    table = [[change(a, b) for b in jobs] + [0] for a in jobs] + [[0] * (len(jobs) + 1)]
    lines = routed(table, [job[0] for job in jobs], CAP, MOST, PRICE, steps)
    return [[i + FIRST for i in line] for line in lines]
`,
  },
  stories: [
    "A dye works plans the shift of its lines: which job runs where, and in which order.",
    "Printing presses are cleaned between two jobs, longer from dark to light.",
    "Mixers of an ice cream factory are rinsed between two kinds.",
    "A paint shop sends bodies of cars through its booths.",
  ],
  task: ({ cap, most, price, darker, lighter, tool }) =>
    `Give each job to one line, and the jobs of a line an order. The minutes of a line's jobs add up to at most ${cap}${most < ANY ? `, and a line has at most ${most} jobs` : ""}; there are as many lines as you like. From one job to the next on its line the change costs ${darker} for each shade that the next one has more, or ${lighter} for each shade that it has less${tool > 0 ? `, and ${tool} more if its tool is another one` : " (tools do not matter)"}. The first job of a line needs no change. The cost is the sum of all changes, and ${price} for each line.`,
  inputText:
    "The first line has the number of jobs; each further line has the minutes, the shade and the tool of a job, in the order of their numbers.",
  outputText: "one line for each line that is used, with the numbers of its jobs in their order",
  plainText:
    "it takes the jobs in the order of their numbers and begins another line where the next one is not allowed any more",
});

function stepsOf({ darker, lighter, tool }: Rules, { jobs }: Data): number[][] {
  const rows = jobs.map(([, from, held]) => [
    ...jobs.map(
      ([, to, needed]) => (to > from ? darker * (to - from) : lighter * (from - to)) + (held === needed ? 0 : tool),
    ),
    0,
  ]);
  return [...rows, range(jobs.length + 1).map(() => 0)];
}
