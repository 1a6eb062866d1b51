/** structure-string-facts: formula, rings and groups of a molecule in line notation. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Atom {
  element: "C" | "N" | "O" | "F";
  bonds: { to: number; order: number }[];
}

interface Given {
  text: string;
  atoms: Atom[];
}

/** By level: atoms, rings. */
const KNOBS = [
  [6, 0],
  [9, 1],
  [14, 1],
  [20, 2],
  [30, 3],
] as const;
const VALENCE: Readonly<Record<Atom["element"], number>> = { C: 4, N: 3, O: 2, F: 1 };
const MARKS: readonly string[] = ["", "", "=", "#"];

export const structureStringFacts = fieldRow<Given>({
  id: "structure-string-facts",
  asks: "hydrogens, rings, chain ends and groups of a molecule that is written in line notation",
  draw,
  solve,
  values: () => "all values are integers",
  wordings: [
    ({ text }) => `The molecule ${text} is written in SMILES. ${questions()}`,
    ({ text }) => `Read this line notation: ${text}\n${questions()} ${notation()}`,
    ({ text }) =>
      `A catalogue of substances lists only line notations. ${questions()} ${notation()} Molecule:\n${text}`,
    ({ text }) => `Count in the structure ${text} (SMILES without aromatic atoms or charges). ${questions()}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, rings] = at(KNOBS, level - 1);
  const atoms: Atom[] = [{ element: "C", bonds: [] }];
  const free = (index: number): number =>
    VALENCE[at(atoms, index).element] - at(atoms, index).bonds.reduce((sum, { order }) => sum + order, 0);
  const join = (a: number, b: number, order: number): void => {
    at(atoms, a).bonds.push({ to: b, order });
    at(atoms, b).bonds.push({ to: a, order });
  };
  while (atoms.length < count) {
    const open = range(atoms.length).filter((index) => free(index) > 0);
    if (open.length === 0) return null;
    const place = rng.integer(3) === 0 ? rng.pick(open) : at(open, open.length - 1);
    const element = rng.pick(["C", "C", "C", "C", "C", "N", "O", "F"] as const);
    if (element !== "C" && at(atoms, place).element !== "C") continue;
    const most = Math.min(free(place), VALENCE[element], 3);
    const order = rng.integer(3) === 0 ? between(rng, 1, most) : 1;
    atoms.push({ element, bonds: [] });
    join(place, atoms.length - 1, order);
  }
  for (let ring = 0; ring < rings; ring++) {
    const pairs = range(count).flatMap((a) =>
      range(a)
        .filter((b) => free(a) > 0 && free(b) > 0 && distance(atoms, a, b) > 1 && distance(atoms, a, b) < 7)
        .map((b): [number, number] => [a, b]),
    );
    const pair = pairs.length === 0 ? null : rng.pick(pairs);
    if (pair === null) return null;
    join(...pair, 1);
  }
  const text = written(atoms);
  return text === null ? null : { text, atoms };
}

function solve({ atoms, text }: Given): Solution | null {
  const orders = (index: number): number[] => at(atoms, index).bonds.map(({ order }) => order);
  const hydrogens = (index: number): number =>
    VALENCE[at(atoms, index).element] - orders(index).reduce((a, b) => a + b, 0);
  const all = range(atoms.length);
  const carbonsWith = (number: number): number =>
    all.filter((index) => at(atoms, index).element === "C" && hydrogens(index) === number).length;
  const H = all.reduce((sum, index) => sum + hydrogens(index), 0);
  const doubles = all.reduce((sum, index) => sum + orders(index).filter((order) => order === 2).length, 0) / 2;
  const triples = all.reduce((sum, index) => sum + orders(index).filter((order) => order === 3).length, 0) / 2;
  const edges = all.reduce((sum, index) => sum + orders(index).length, 0) / 2;
  const rings = edges - atoms.length + 1;
  const carbonyls = all.filter(
    (index) =>
      at(atoms, index).element === "C" &&
      at(atoms, index).bonds.some(({ to, order }) => order === 2 && at(atoms, to).element === "O"),
  ).length;
  const hydroxyls = all.filter((index) => at(atoms, index).element === "O" && hydrogens(index) === 1).length;
  const values = [H, rings, carbonsWith(3), carbonsWith(2), doubles + triples, carbonyls, hydroxyls].map(String);
  const rest = values.slice(1);
  const linear = 2 * all.filter((index) => at(atoms, index).element === "C").length + 2;
  return {
    fields: ["H", "rings", "CH3", "CH2", "multiple", "CO", "OH"].map((name, index) => ({
      name,
      kind: "number",
      value: at(values, index),
    })),
    slips: [linear, H + 2 * rings + 1, H - 1].filter((slip) => slip !== H).map((slip) => [String(slip), ...rest]),
    steps: text.length + 5 * rings,
  };
}

/** Bonds on the shortest path; bounded by the number of atoms. */
function distance(atoms: readonly Atom[], from: number, to: number): number {
  const far = new Map([[from, 0]]);
  for (const [atom, steps] of far) {
    if (atom === to) return steps;
    for (const { to: next } of at(atoms, atom).bonds) if (!far.has(next)) far.set(next, steps + 1);
  }
  return atoms.length;
}

/** Depth first from atom 0; bonds that close a ring get numbers. Null where such a bond is not single, which the notation cannot say. */
function written(atoms: readonly Atom[]): string | null {
  const seen = new Set<number>();
  const closing = new Map<string, number>();
  const key = (a: number, b: number): string => `${Math.min(a, b)}-${Math.max(a, b)}`;
  const tree = new Set<string>();
  let isSingle = true;
  const visit = (atom: number): void => {
    seen.add(atom);
    for (const { to, order } of at(atoms, atom).bonds) {
      if (!seen.has(to)) {
        tree.add(key(atom, to));
        visit(to);
      } else if (!tree.has(key(atom, to)) && !closing.has(key(atom, to))) {
        closing.set(key(atom, to), closing.size + 1);
        isSingle &&= order === 1;
      }
    }
  };
  visit(0);
  if (!isSingle) return null;
  const text = (atom: number, from: number): string => {
    const { element, bonds } = at(atoms, atom);
    const digits = bonds.map(({ to }) => closing.get(key(atom, to))).filter((digit) => digit !== undefined);
    const next = bonds.filter(({ to }) => to !== from && tree.has(key(atom, to)));
    const branches = next.map(({ to, order }) => `${at(MARKS, order)}${text(to, atom)}`);
    return `${element}${digits.join("")}${branches.map((branch, index) => (index < branches.length - 1 ? `(${branch})` : branch)).join("")}`;
  };
  return text(0, -1);
}

function questions(): string {
  return "Find H, the number of hydrogen atoms; rings, the number of independent rings; CH3 and CH2, the carbons with exactly three and exactly two hydrogens; multiple, the double and triple bonds together; CO, the carbons with a double bond to oxygen; OH, the oxygens with a hydrogen.";
}

function notation(): string {
  return "In it brackets hold branches, = and # are double and triple bonds, two atoms with the same digit are bonded to each other by a single bond, and hydrogens fill up the valences (C 4, N 3, O 2, F 1).";
}
