/** resistor-mesh: potentials and currents in a network of resistors and batteries that series and parallel rules do not solve. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { solveLinear } from "../linear-system.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Branch {
  from: number;
  to: number;
  /** In ohm. */
  resistance: number;
  /** Of a battery in the branch, in V: it drives current from `from` to `to`. */
  voltage: number;
}

interface Given {
  nodes: number;
  branches: Branch[];
}

/** By level: nodes on a ring, chords across it, batteries. */
const KNOBS = [
  [3, 0, 1],
  [4, 1, 1],
  [4, 2, 2],
  [6, 3, 2],
  [8, 4, 3],
] as const;
const NAMES = "ABCDEFGHI";

export const resistorMesh = quantityRow<Given>({
  id: "resistor-mesh",
  asks: "potentials and a current in a mesh of resistors and batteries",
  draw,
  solve,
  isShared: true,
  asides: [
    "The board is 14 cm wide.",
    "The wires are made of copper and have no resistance; their length is 9 cm.",
    "Every resistor is 12 mm long.",
    "The circuit was soldered in 1998.",
  ],
  wordings: [
    (one, aside) =>
      `A network of ideal batteries and resistors joins the nodes ${nodeList(one)}. Branches:\n${branchList(one)}\nNode A is earthed, so its potential is 0. ${aside} Find the potentials of the other nodes (${wanted(one)}) and the current I in branch 1, positive in the direction in which it is listed.`,
    (one, aside) =>
      `With A as the zero of potential, what are ${wanted(one)} (potential of the node with that letter), and what current I runs through branch 1 from its first node to its second? ${aside} The circuit:\n${branchList(one)}\nThere is nothing else, and the current is steady.`,
    (one, aside) =>
      `Solve this direct-current circuit. ${aside}\n${branchList(one)}\nA battery "towards X" has its positive pole on the side of X. Report ${wanted(one)} in relation to node A, that is VA = 0, and the signed current I of branch 1 (positive: the way it is written).`,
    (one, aside) =>
      `Between ${one.nodes} soldering points (${nodeList(one)}) there are ${one.branches.length} branches, each a resistor, some with a battery in series:\n${branchList(one)}\n${aside} A voltmeter has its black lead at A. What does it show at the other points, ${wanted(one)}? An ammeter in branch 1 counts current from the first point to the second as positive: what does it read (I)?`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [nodes, chordCount, batteries] = at(KNOBS, level - 1);
  const order = shuffled(range(nodes), rng);
  const ring = order.map((node, index): [number, number] => [node, at(order, (index + 1) % nodes)]);
  const chords = order.flatMap((node, index) =>
    order.slice(index + 2, index === 0 ? nodes - 1 : nodes).map((other): [number, number] => [node, other]),
  );
  const pairs = shuffled([...ring, ...sample(chords, chordCount, rng)], rng);
  if (level >= 3 && isSeriesParallel(nodes, pairs)) return null;
  const driven = sample(range(pairs.length), batteries, rng);
  const branches = pairs.map(([from, to], index): Branch => ({
    from,
    to,
    resistance: decimal(rng, 2, 60),
    voltage: driven.includes(index) ? decimal(rng, 3, 24) : 0,
  }));
  return { nodes, branches };
}

/** Whether joining parallel branches and branches in series, in any order, leaves a single one. */
function isSeriesParallel(nodes: number, pairs: readonly (readonly [number, number])[]): boolean {
  const next = range(nodes).map(() => new Set<number>());
  for (const [a, b] of pairs) {
    at(next, a).add(b);
    at(next, b).add(a);
  }
  for (;;) {
    const middle = next.findIndex((others) => others.size === 1 || others.size === 2);
    if (middle < 0) return next.every((others) => others.size === 0);
    const ends = [...at(next, middle)];
    at(next, middle).clear();
    for (const end of ends) {
      at(next, end).delete(middle);
      for (const other of ends) if (other !== end) at(next, end).add(other);
    }
  }
}

function solve(given: Given): Solution | null {
  const right = potentials(given);
  if (right === null) return null;
  const current = (values: readonly number[], sign: number): number => {
    const { from, to, resistance, voltage } = at(given.branches, 0);
    return (at(values, from) - at(values, to) + sign * voltage) / resistance;
  };
  const flow = current(right, 1);
  if (right.slice(1).some((value) => Math.abs(value) < 0.1) || Math.abs(flow) < 0.01) return null;
  const batteries = given.branches.filter(({ voltage }) => voltage > 0);
  const [first] = batteries;
  const branches = given.branches.map((one) => (one === first ? { ...one, voltage: -one.voltage } : one));
  const turned = batteries.length < 2 ? null : potentials({ ...given, branches });
  const answer = (values: readonly number[], own: number): number[] => [...values.slice(1), own];
  return {
    parts: [
      ...right.slice(1).map((value, index) => ({ name: `V${NAMES[index + 1]}`, value, unit: "V", absolute: 0.01 })),
      { name: "I", value: flow, unit: "A" },
    ],
    // All signs turned, one battery turned, the battery in the branch forgotten for the current.
    slips: [
      answer(
        right.map((value) => -value),
        -flow,
      ),
      ...(turned === null ? [] : [answer(turned, current(turned, 1))]),
      ...(at(given.branches, 0).voltage === 0 ? [] : [answer(right, current(right, 0))]),
    ],
    steps: (given.nodes - 1) ** 2 + given.branches.length + batteries.length,
  };
}

/** Kirchhoff's law of currents at every node but A. */
function potentials({ nodes, branches }: Given): number[] | null {
  const matrix = range(nodes - 1).map(() => range(nodes - 1).map(() => 0));
  const right = range(nodes - 1).map(() => 0);
  for (const { from, to, resistance, voltage } of branches) {
    for (const [own, other, driven] of [
      [from, to, -voltage],
      [to, from, voltage],
    ] as const) {
      if (own === 0) continue;
      const row = at(matrix, own - 1);
      row[own - 1] = at(row, own - 1) + 1 / resistance;
      if (other > 0) row[other - 1] = at(row, other - 1) - 1 / resistance;
      right[own - 1] = at(right, own - 1) + driven / resistance;
    }
  }
  const found = solveLinear(matrix, right);
  return found === null ? null : [0, ...found];
}

function nodeList({ nodes }: Given): string {
  return NAMES.slice(0, nodes).split("").join(", ");
}

function wanted({ nodes }: Given): string {
  return range(nodes - 1)
    .map((index) => `V${NAMES[index + 1]}`)
    .join(", ");
}

function branchList({ branches }: Given): string {
  return branches
    .map(({ from, to, resistance, voltage }, index) => {
      const battery = voltage === 0 ? "" : `, battery of ${voltage} V driving towards ${NAMES[to]}`;
      return `${index + 1}. ${NAMES[from]} to ${NAMES[to]}: ${resistance} ohm${battery}`;
    })
    .join("\n");
}
