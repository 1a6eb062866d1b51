/** isomer-census: how many constitutional isomers of a formula meet conditions on their carbons. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { freeAt, longestChain, molecules, type Skeleton } from "./carbon-trees.ts";

interface Given {
  carbons: number;
  /** One letter each: halogens and hydroxyl groups. */
  substituents: string[];
  /** What is asked of the molecule; -1: anything. */
  chain: number;
  methyls: number;
  quaternary: number;
  methylenes: number;
  /** No carbon has two substituents. */
  isSpread: boolean;
}

/** By level: carbons, numbers of substituents of each kind, conditions. */
const KNOBS = [
  { carbons: [5, 6], kinds: [[1], [2]], conditions: 1 },
  { carbons: [6, 7], kinds: [[1, 1], [2]], conditions: 1 },
  { carbons: [6, 7], kinds: [[2, 1], [3]], conditions: 2 },
  { carbons: [7, 7], kinds: [[2, 1], [3], [4]], conditions: 2 },
  {
    carbons: [7, 7],
    kinds: [
      [1, 1, 1],
      [2, 2],
    ],
    conditions: 2,
  },
] as const;
const SYMBOLS: Readonly<Record<string, string>> = { b: "Br", c: "Cl", f: "F", i: "I", o: "OH" };

export const isomerCensus = fieldRow<Given>({
  id: "isomer-census",
  asks: "number of constitutional isomers of a substituted alkane with conditions on chain and carbons",
  draw,
  solve,
  values: () => "the number of different molecules as an integer",
  wordings: [
    (one) => `How many constitutional isomers without rings have ${composition(one)}${conditions(one)}? ${rule()}`,
    (one) => `Count the open-chain molecules made of ${composition(one)}${conditions(one)}. ${rule()}`,
    (one) =>
      `${rule()} Acyclic saturated compounds of ${composition(one)} are meant${conditions(one)}. Determine how many there are.`,
    (one) =>
      `A chemist draws all saturated molecules without a ring that consist of ${composition(one)}${conditions(one)}. How many drawings are there, each molecule once? ${rule()}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const { carbons, kinds, conditions: count } = at(KNOBS, level - 1);
  const counts = rng.pick<readonly number[]>(kinds);
  const letters = sample(Object.keys(SYMBOLS), counts.length, rng);
  const substituents = counts.flatMap((number, index) => range(number).map(() => at(letters, index))).toSorted();
  const size = rng.pick<number>(carbons);
  const asked = sample(["chain", "methyls", "methylenes", "quaternary", "isSpread"], count + rng.integer(2), rng);
  const model = rng.pick(molecules(size, substituents));
  const has = (name: string, value: number): number => (asked.includes(name) ? value : -1);
  return {
    carbons: size,
    substituents,
    chain: has("chain", longestChain(model)),
    methyls: has("methyls", withHydrogens(model, 3)),
    methylenes: has("methylenes", withHydrogens(model, 2)),
    quaternary: has("quaternary", quaternaryOf(model)),
    isSpread: asked.includes("isSpread") && substituents.length > 1,
  };
}

function solve(given: Given): Solution | null {
  const { carbons, substituents } = given;
  const all = molecules(carbons, substituents);
  const count = (one: Given): number => all.filter((molecule) => meets(one, molecule)).length;
  const value = count(given);
  if (value < 4 || value === all.length) return null;
  const same = substituents.map(() => at(substituents, 0));
  const slips = [
    all.length,
    value + 1,
    molecules(carbons, same).filter((molecule) => meets(given, molecule)).length,
    value - 1,
    value + 2,
  ];
  return {
    fields: [{ name: "isomers", kind: "number", value: String(value) }],
    slips: [...new Set(slips)].filter((slip) => slip !== value).map((slip) => [String(slip)]),
    steps: all.length,
  };
}

function meets({ chain, methyls, methylenes, quaternary, isSpread }: Given, molecule: Skeleton): boolean {
  return (
    (chain < 0 || longestChain(molecule) === chain) &&
    (methyls < 0 || withHydrogens(molecule, 3) === methyls) &&
    (methylenes < 0 || withHydrogens(molecule, 2) === methylenes) &&
    (quaternary < 0 || quaternaryOf(molecule) === quaternary) &&
    (!isSpread || molecule.labels.every((label) => label.length < 2))
  );
}

/** Carbons with exactly so many hydrogens. */
function withHydrogens(molecule: Skeleton, hydrogens: number): number {
  return range(molecule.bonds.length).filter((carbon) => freeAt(molecule, carbon) === hydrogens).length;
}

/** Carbons that are bonded to four carbons. */
function quaternaryOf({ bonds }: Skeleton): number {
  return bonds.filter((near) => near.length === 4).length;
}

function composition({ carbons, substituents }: Given): string {
  const parts = [...new Set(substituents)].map(
    (letter) => `${substituents.filter((one) => one === letter).length} ${SYMBOLS[letter]}`,
  );
  const hydrogens = 2 * carbons + 2 - substituents.length;
  return `${carbons} C, ${parts.join(", ")} and ${hydrogens} H${substituents.includes("o") ? " (besides those of the OH groups)" : ""}`;
}

function conditions({ chain, methyls, methylenes, quaternary, isSpread }: Given): string {
  const list = [
    ...(chain < 0 ? [] : [`whose longest chain of carbons has ${chain} of them`]),
    ...(methyls < 0 ? [] : [`with exactly ${methyls} groups CH3`]),
    ...(methylenes < 0 ? [] : [`with exactly ${methylenes} groups CH2`]),
    ...(quaternary < 0 ? [] : [`in which exactly ${quaternary} carbons are bonded to four other carbons`]),
    ...(isSpread ? ["where no carbon carries more than one of the atoms or groups other than C and H"] : []),
  ];
  return list.length === 0 ? "" : `, ${list.join(", ")}`;
}

function rule(): string {
  return "Every bond is single; carbon has four bonds, hydrogen and the other atoms and groups have one, to carbon. Mirror images and other stereoisomers count as the same molecule.";
}
