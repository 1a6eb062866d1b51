/** Exact models against second methods: enumeration, simulation and linear algebra that share no code with the solvers. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import type { FieldInstance } from "../../../../../ts/environments/catalogue/field-row.ts";
import { countedModels } from "../../../../../ts/environments/catalogue/science/counted-models/index.ts";
import { LEVELS, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

/** Instances of each level. */
const INSTANCES = IS_LONG ? 100 : 12;

interface Drawn<Given> {
  readonly given: Given;
  readonly prompt: string;
  /** The value of a field. */
  readonly value: (name: string) => string;
  /** The same as a number, of an exact fraction or decimal. */
  readonly number: (name: string) => number;
}

function* drawn<Given extends object>(id: string): Generator<Drawn<Given>> {
  const row = countedModels.rows.find((one): one is Row => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  const rng = createRng(31);
  for (const level of LEVELS) {
    for (let count = 0; count < INSTANCES; count++) {
      const { instance, prompt } = drawInstance(row, level, rng);
      const { given, solution } = instance as FieldInstance<Given>;
      const value = (name: string): string => {
        const field = solution.fields.find((one) => one.name === name);
        if (field === undefined) throw new Error(`${id} has no field ${name}`);
        return field.value;
      };
      yield { given, prompt, value, number: (name) => numberOf(value(name)) };
    }
  }
}

function numberOf(text: string): number {
  const [numerator, denominator = "1"] = text.split("/");
  return Number(numerator) / Number(denominator);
}

function expectNear(found: number, value: number, where: unknown): void {
  expect(
    Math.abs(found - value) <= 1e-9 * Math.max(1, Math.abs(value)),
    `${found} and ${value}, ${JSON.stringify(where)}`,
  ).toBe(true);
}

function* below(sizes: readonly number[]): Generator<number[]> {
  const [size, ...rest] = sizes;
  if (size === undefined) return void (yield []);
  for (let first = 0; first < size; first++) for (const others of below(rest)) yield [first, ...others];
}

test("lattice-planes: of all small whole numbers the first ones that are proportional, parallel, and at these distances", () => {
  interface Given {
    squares: number[];
    planes: ([number, number] | null)[][];
    asks: number;
  }
  const least = (most: number, fits: (triple: readonly [number, number, number]) => boolean): number[] => {
    const found: [number, number, number][] = [];
    for (const [a = 0, b = 0, c = 0] of below([2 * most + 1, 2 * most + 1, 2 * most + 1])) {
      const triple = [a - most, b - most, c - most] as const;
      if (triple.some((one) => one !== 0) && fits(triple)) found.push([...triple]);
    }
    const sizeOf = (triple: readonly number[]): number => Math.max(...triple.map(Math.abs));
    return found.toSorted((one, other) => sizeOf(one) - sizeOf(other))[0] ?? [];
  };
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, one, axis) => sum + one * (b[axis] ?? 0), 0);
  let seen = 0;
  for (const { given, value, number } of drawn<Given>("lattice-planes")) {
    const indices = given.planes.map((_, plane) => ["h", "k", "l"].map((axis) => Number(value(`${axis}${plane + 1}`))));
    for (const [plane, cuts] of given.planes.entries()) {
      const [h = 0, k = 0, l = 0] = indices[plane] ?? [];
      // The point where the plane cuts an axis satisfies h x + k y + l z = the same number for all axes; an axis that it is parallel to has no such point.
      const level = cuts.flatMap((cut, axis) => (cut === null ? [] : [([h, k, l][axis] ?? 0) * (cut[0] / cut[1])]));
      for (const one of level) expectNear(one, level[0] ?? 0, cuts);
      expect(level[0] ?? 0, JSON.stringify(cuts)).toBeGreaterThan(0);
      for (const [axis, cut] of cuts.entries()) if (cut === null) expect([h, k, l][axis]).toBe(0);
      const divides = [2, 3, 5, 7].some((prime) => [h, k, l].every((one) => one % prime === 0));
      expect(divides).toBe(false);
    }
    const [p = [], q = []] = indices;
    if (given.asks > 0 && Math.max(...p.map(Math.abs), ...q.map(Math.abs)) <= 6) {
      const axis = [Number(value("u")), Number(value("v")), Number(value("w"))];
      const most = Math.max(...axis.map(Math.abs));
      if (most <= 16) {
        const found = least(
          most,
          (one) => dot(one, p) === 0 && dot(one, q) === 0 && (one.find((part) => part !== 0) ?? 0) > 0,
        );
        expect(found).toEqual(axis);
        seen += 1;
      }
    }
    // Reciprocal vectors in a Cartesian frame.
    const vectors = indices.map((one) => one.map((index, at) => index / Math.sqrt(given.squares[at] ?? 1)));
    if (given.asks > 1)
      for (const [plane, vector] of vectors.entries())
        expectNear(1 / Math.hypot(...vector) ** 2, number(`s${plane + 1}`), given);
    const [first = [], second = []] = vectors;
    if (given.asks > 2)
      expectNear((dot(first, second) / Math.hypot(...first) / Math.hypot(...second)) ** 2, number("cosine"), given);
  }
  expect(seen).toBeGreaterThan(INSTANCES / 2);
});

test("redox-balance-medium: the smallest whole vector that balances every element and the charge of the formulas in the prompt", () => {
  interface Form {
    text: string;
  }
  interface Given {
    oxidants: { oxidised: Form; reduced: Form }[];
    reductants: { oxidised: Form; reduced: Form }[];
    isBase: boolean;
    amount: number;
  }
  /** Atoms by element, and the charge, as a chemist reads a formula such as "Cr2O7 2-", "NH4+" or "Mn2+". */
  const read = (text: string): ReadonlyMap<string, number> => {
    const [formula = "", own] = text.split(" ");
    const parts = /^(.*?)(?:(\d*)([+-]))?$/u.exec(own === undefined ? formula : `${formula}|${own}`);
    const [, body = "", size = "", sign] = parts ?? [];
    const counts = new Map<string, number>();
    // "Mn2+" is an ion of one atom; "NH4+" has four atoms of hydrogen and one charge.
    const isAtom = own === undefined && /^[A-Z][a-z]?$/u.test(body);
    const atoms = own === undefined && sign !== undefined && !isAtom ? `${body}${size}` : body.replace("|", "");
    const charge = sign === undefined ? 0 : (isAtom || own !== undefined) && size !== "" ? Number(size) : 1;
    for (const [, element = "", count = ""] of atoms.matchAll(/([A-Z][a-z]?)(\d*)/gu))
      counts.set(element, (counts.get(element) ?? 0) + (count === "" ? 1 : Number(count)));
    counts.set("charge", sign === "-" ? -charge : charge);
    return counts;
  };
  expect([...read("Cr2O7 2-")]).toEqual([
    ["Cr", 2],
    ["O", 7],
    ["charge", -2],
  ]);
  expect([...read("NH4+")]).toEqual([
    ["N", 1],
    ["H", 4],
    ["charge", 1],
  ]);
  expect([...read("Fe3+"), ...read("Br-")]).toEqual([
    ["Fe", 1],
    ["charge", 3],
    ["Br", 1],
    ["charge", -1],
  ]);
  for (const { given, value, number } of drawn<Given>("redox-balance-medium")) {
    const { oxidants, reductants, isBase, amount } = given;
    const pairs = [
      ...oxidants.map((one) => [one.oxidised, one.reduced]),
      ...reductants.map((one) => [one.oxidised, one.reduced]),
    ];
    const names = pairs.flat().map((_, index) => `c${index + 1}`);
    // On the left with a minus: the oxidised form of the oxidant and the reduced forms of the others.
    const terms = pairs.flat().map(({ text }, index) => {
      const isLeft = index < 2 ? index === 0 : index % 2 === 1;
      return { counts: read(text), coefficient: Number(value(names[index] ?? "")) * (isLeft ? -1 : 1) };
    });
    terms.push({ counts: read(isBase ? "OH-" : "H+"), coefficient: Number(value("ion")) });
    terms.push({ counts: read("H2O"), coefficient: Number(value("water")) });
    const where = JSON.stringify([pairs.flat().map(({ text }) => text), terms.map(({ coefficient }) => coefficient)]);
    for (const element of new Set(terms.flatMap(({ counts }) => [...counts.keys()])))
      expect(
        terms.reduce((sum, { counts, coefficient }) => sum + coefficient * (counts.get(element) ?? 0), 0),
        `${element} in ${where}`,
      ).toBe(0);
    const all = terms.map(({ coefficient }) => Math.abs(coefficient));
    expect(all.every(Number.isInteger)).toBe(true);
    expect(all.slice(0, names.length).every((one) => one > 0)).toBe(true);
    for (let divisor = 2; divisor <= Math.max(...all); divisor++)
      expect(
        all.every((one) => one % divisor === 0),
        `${divisor} divides ${where}`,
      ).toBe(false);
    // Oxidation numbers: oxygen has -2 and hydrogen +1, the rest of the charge is that of the named element.
    const numberIn = (counts: ReadonlyMap<string, number>): number =>
      (counts.get("charge") ?? 0) + 2 * (counts.get("O") ?? 0) - (counts.get("H") ?? 0);
    const moved = pairs.map((_, couple) => {
      const [oxidised, reduced] = [terms[2 * couple], terms[2 * couple + 1]];
      if (oxidised === undefined || reduced === undefined) throw new Error("a couple has two forms");
      return (
        Math.abs(oxidised.coefficient) * numberIn(oxidised.counts) -
        Math.abs(reduced.coefficient) * numberIn(reduced.counts)
      );
    });
    const electrons = number("electrons");
    expect(moved, where).toEqual([electrons, ...reductants.map(() => electrons / reductants.length)]);
    expectNear((amount * Number(value("c4"))) / Number(value("c1")), number("needed"), given);
  }
});

test("back-titration: from the volumes in the prompt, both amounts in the whole sample", () => {
  interface Given {
    hydroxide: number;
    carbonate: number;
  }
  for (const { given, prompt, number } of drawn<Given>("back-titration")) {
    const find = (pattern: RegExp): number | null => {
      const [, text] = pattern.exec(prompt) ?? [];
      return text === undefined ? null : numberOf(text);
    };
    const acid = find(/([\d.]+) mol\/l HCl/u) ?? 0;
    const blank = find(/contains ([\d./]+) ml that a blank/u) ?? 0;
    const share = (find(/of which ([\d.]+) ml were titrated/u) ?? 1) / (find(/dissolved to ([\d.]+) ml/u) ?? 1);
    const first = (find(/phenolphthalein came after ([\d./]+) ml/u) ?? 0) - blank;
    const direct = find(/methyl orange it took ([\d./]+) ml in all/u);
    const back = find(/rest of the acid took ([\d./]+) ml/u);
    const excess = find(/boiled with ([\d.]+) ml of the same acid/u);
    const base = find(/ml of ([\d.]+) mol\/l NaOH/u);
    const used = direct === null ? (excess ?? 0) * acid - ((back ?? 0) - blank) * (base ?? 0) : (direct - blank) * acid;
    // One proton for each OH-, and one or two for each carbonate.
    const carbonate = used - first * acid;
    const hydroxide = first * acid - carbonate;
    expectNear(hydroxide / share, number("hydroxide"), prompt);
    expectNear(carbonate / share, number("carbonate"), prompt);
    expectNear(carbonate / (carbonate + hydroxide), number("share"), prompt);
    expectNear(number("hydroxide"), given.hydroxide, prompt);
    expectNear(number("carbonate"), given.carbonate, prompt);
  }
});

test("tree-change-count: all states of all inner nodes are tried", () => {
  type Tree = number | [Tree, Tree];
  interface Given {
    tree: Tree;
    leaves: string[];
    costs: [number, number];
  }
  const states = ["A", "C", "G", "T"];
  for (const { given, value, number } of drawn<Given>("tree-change-count")) {
    const { tree, leaves, costs } = given;
    // Enumeration takes 4^(species - 1) histories.
    if (leaves.length > 8) continue;
    const edges: [parent: number, child: number][] = [];
    const leafOf = new Map<number, number>();
    let nodes = 0;
    const numbered = (part: Tree): number => {
      const node = nodes++;
      if (typeof part === "number") leafOf.set(node, part);
      else for (const side of part) edges.push([node, numbered(side)]);
      return node;
    };
    numbered(tree);
    const inner = Array.from({ length: nodes }, (_, node) => node).filter((node) => !leafOf.has(node));
    // Of A, C, G, T those that are like each other stand two places apart.
    const price = (one: number, other: number): number =>
      one === other ? 0 : (one + other) % 2 === 0 ? costs[0] : costs[1];
    for (let site = 0; site < (leaves[0]?.length ?? 0); site++) {
      const held = Array.from({ length: nodes }, (_, node) =>
        states.indexOf(leaves[leafOf.get(node) ?? 0]?.charAt(site) ?? ""),
      );
      let least = Infinity;
      let roots = new Set<string>();
      for (const picks of below(inner.map(() => 4))) {
        for (const [index, node] of inner.entries()) held[node] = picks[index] ?? 0;
        const cost = edges.reduce((sum, [parent, child]) => sum + price(held[parent] ?? 0, held[child] ?? 0), 0);
        if (cost < least) [least, roots] = [cost, new Set()];
        if (cost === least) roots.add(states[held[0] ?? 0] ?? "");
      }
      expect([number(`cost${site + 1}`), value(`root${site + 1}`)]).toEqual([least, [...roots].toSorted().join(", ")]);
    }
  }
});

test("trait-class-odds: all pairs of equally likely gametes are counted", () => {
  interface Given {
    parents: boolean[][][];
    crossing: number;
    rules: { needs: [number, boolean][]; colour: string }[];
    deadly: number | null;
  }
  for (const { given, number } of drawn<Given>("trait-class-odds")) {
    const { parents, crossing, rules, deadly } = given;
    const genes = parents[0]?.[0]?.length ?? 0;
    // A hundred gametes for the pick of the first copy, of which `crossing` switch to the other copy behind gene A; each with all picks of the other genes.
    const gametes = parents.map((copies) => {
      const all = new Map<string, number>();
      for (const [start = 0, ...others] of below([2, ...Array.from({ length: genes - 2 }, () => 2)]))
        for (let turn = 0; turn < 100; turn++) {
          const copyOf = [start, turn < crossing ? 1 - start : start, ...others];
          const text = copyOf.map((copy, gene) => (copies[copy]?.[gene] === true ? "D" : "r")).join("");
          all.set(text, (all.get(text) ?? 0) + 1);
        }
      return all;
    });
    const [eggs = new Map<string, number>(), sperms = new Map<string, number>()] = gametes;
    const counts = new Map<string, number>();
    let alive = 0;
    for (const [egg, some] of eggs)
      for (const [sperm, more] of sperms) {
        const shown = egg.split("").map((one, gene) => one === "D" || sperm[gene] === "D");
        if (deadly !== null && shown[deadly] === false) continue;
        const colour =
          rules.find(({ needs }) => needs.every(([gene, wanted]) => shown[gene] === wanted))?.colour ?? "grey";
        counts.set(colour, (counts.get(colour) ?? 0) + some * more);
        alive += some * more;
      }
    for (const colour of [...rules.map((rule) => rule.colour), "grey"])
      expectNear((counts.get(colour) ?? 0) / alive, number(colour), given);
  }
});

test("stage-population: individuals in units of 10^-years, as whole numbers", () => {
  interface Given {
    start: number[];
    young: number[];
    grow: number[];
    stay: number[];
    harvest: [number, number] | null;
    years: number;
  }
  for (const { given, number } of drawn<Given>("stage-population")) {
    const { start, young, grow, stay, harvest, years } = given;
    let counts = start.map((one) => BigInt(one));
    let unit = 1n;
    for (let year = 0; year < years; year++) {
      const next = counts.map(() => 0n);
      const add = (stage: number, tenths: bigint): void => void (next[stage] = (next[stage] ?? 0n) + tenths);
      unit *= 10n;
      for (const [stage, count] of counts.entries()) {
        add(0, count * BigInt(young[stage] ?? 0));
        add(stage, count * BigInt(stay[stage] ?? 0));
        if (stage + 1 < counts.length) add(stage + 1, count * BigInt(grow[stage] ?? 0));
      }
      if (harvest !== null) add(harvest[0], -BigInt(harvest[1]) * unit);
      counts = next;
    }
    for (const [stage, count] of counts.entries())
      expectNear(Number(count) / Number(unit), number(`S${stage + 1}`), given);
  }
});

test("gene-network-cycles: two pointers find the cycle among states that are whole numbers", () => {
  interface Given {
    genes: { by: { gene: number; isOn: boolean }[]; least: number }[];
    start: boolean[];
    lost: number;
  }
  for (const { given, value, number } of drawn<Given>("gene-network-cycles")) {
    const { genes, start, lost } = given;
    for (const [suffix, missing] of [
      ["", -1],
      ["2", lost],
    ] as const) {
      const keep = missing < 0 ? -1 : ~(1 << missing);
      const step = (state: number): number =>
        genes.reduce((next, { by, least }, gene) => {
          const held = by.filter((one) => ((state >> one.gene) & 1) === Number(one.isOn)).length;
          return held >= least ? next | (1 << gene) : next;
        }, 0) & keep;
      const first = start.reduce((bits, isOn, gene) => (isOn ? bits | (1 << gene) : bits), 0) & keep;
      let [slow, fast] = [step(first), step(step(first))];
      while (slow !== fast) [slow, fast] = [step(slow), step(step(fast))];
      let wait = 0;
      for (slow = first; slow !== fast; wait++) [slow, fast] = [step(slow), step(fast)];
      let [period, common] = [1, slow];
      for (fast = step(slow); fast !== slow; period++) [common, fast] = [common & fast, step(fast)];
      const names = genes.flatMap((_, gene) => ((common >> gene) & 1 ? [`G${gene + 1}`] : []));
      expect(
        [number(`wait${suffix}`), number(`period${suffix}`), value(`common${suffix}`)],
        JSON.stringify(given),
      ).toEqual([wait, period, names.length === 0 ? "none" : names.join(", ")]);
    }
  }
});

test("compartment-stocks: day after day until nothing changes, from empty compartments", () => {
  interface Given {
    flows: { from: number; to: number | null; percent: number }[];
    inflow: number[];
  }
  for (const { given, number } of drawn<Given>("compartment-stocks")) {
    const { flows, inflow } = given;
    // Seidel's iteration: each stock in turn balances what leaves it with what the others send.
    const stocks = inflow.map(() => 0);
    for (let change = Infinity, round = 0; change > 1e-13 && round < 200_000; round++) {
      change = 0;
      for (const [place, own] of stocks.entries()) {
        const fed = flows.reduce(
          (sum, { from, to, percent }) => (to === place ? sum + (stocks[from] ?? 0) * percent : sum),
          100 * (inflow[place] ?? 0),
        );
        const leaving = flows.reduce((sum, { from, percent }) => (from === place ? sum + percent : sum), 0);
        stocks[place] = fed / leaving;
        change = Math.max(change, Math.abs((stocks[place] ?? 0) - own) / Math.max(1, own));
      }
    }
    for (const [place, stock] of stocks.entries())
      expect(Math.abs(stock - number(`C${place + 1}`)) / stock, JSON.stringify(given)).toBeLessThan(1e-8);
    const all = stocks.reduce((sum, one) => sum + one, 0);
    const fed = inflow.reduce((sum, one) => sum + one, 0);
    expect(Math.abs(all / fed - number("days")) / number("days")).toBeLessThan(1e-8);
  }
});
