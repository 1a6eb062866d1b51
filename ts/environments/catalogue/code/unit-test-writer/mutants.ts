/** Which mutants of a subject a suite must kill: each has a known killing input, and its weight says how rarely a random input kills it. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Json } from "../json.ts";
import { kindOf, type Subject } from "../subjects/index.ts";
import type { Input } from "../subjects/subject.ts";

export interface Ranked {
  readonly operator: string;
  readonly spec: Subject;
  /** 1: half of the random inputs kill it; one more for each halving, at most `HEAVIEST`. */
  readonly weight: number;
}

/** An input with its result and the mutants, by their numbers, that give another one. */
export interface Probe {
  readonly input: Input;
  readonly result: Json;
  readonly kills: readonly number[];
}

export const HEAVIEST = 8;
/** Mutants of this weight are rare: at most one random input of 23 kills them. */
export const RARE = 5;
const RANDOM_INPUTS = 128;
const EDGE_INPUTS = 192;
/** By level: most mutants, fewest mutants, and the heaviest of them. */
const COUNTS = [
  [8, 6, 4],
  [12, 8, 6],
  [16, 11, HEAVIEST],
  [22, 14, HEAVIEST],
  [30, 18, HEAVIEST],
] as const;
/** By level: least share of rare mutants. */
const RARE_SHARES = [0, 0, 0.2, 0.3, 0.4] as const;

/** Null where the subject has too few mutants of the level, or a rule without effect. */
export function drawMutants(subject: Subject, level: Level, rng: Rng): Ranked[] | null {
  const kind = kindOf(subject);
  const inputs = inputsOf(subject, rng);
  const right = inputs.map((input) => JSON.stringify(kind.run(subject, input)));
  const seen = new Set<string>();
  let isIdle = false;
  const ranked = kind.mutants(subject).flatMap(({ operator, spec }): Ranked[] => {
    const results = inputs.map((input) => JSON.stringify(kind.run(spec, input)));
    const text = results.join("\n");
    const isSame = results.every((result, index) => result === right[index]);
    isIdle ||= isSame && operator.startsWith("forgotten");
    if (isSame || seen.has(text)) return [];
    seen.add(text);
    const kills = right.slice(0, RANDOM_INPUTS).filter((result, index) => result !== results[index]).length;
    const weight = Math.min(HEAVIEST, Math.max(1, Math.round(Math.log2((RANDOM_INPUTS + 1) / (kills + 0.5)))));
    return [{ operator, spec, weight }];
  });
  if (isIdle) return null;
  const [most, fewest, heaviest] = at(COUNTS, level - 1);
  const all = ranked.filter(({ weight }) => weight <= heaviest);
  const rare = all.filter(({ weight }) => weight >= RARE);
  const wanted = Math.ceil(at(RARE_SHARES, level - 1) * Math.min(most, all.length));
  if (all.length < fewest || rare.length < wanted) return null;
  const first = sample(rare, Math.max(wanted, Math.ceil(most / 2)), rng);
  const rest = sample(
    all.filter((one) => !first.includes(one)),
    most - first.length,
    rng,
  );
  return sample([...first.slice(0, most), ...rest], most, rng);
}

/** Inputs among which every mutant has one that kills it, found with the stream that `drawMutants` had: random ones, then edges. */
export function probesOf(subject: Subject, mutants: readonly Ranked[], rng: Rng): Probe[] {
  const kind = kindOf(subject);
  return inputsOf(subject, rng).map((input) => probeOf(subject, mutants, input, kind.run(subject, input)));
}

/** Inputs that do not depend on the rules. */
export function randomProbes(subject: Subject, mutants: readonly Ranked[], count: number, rng: Rng): Probe[] {
  const kind = kindOf(subject);
  return range(count).map(() => {
    const input = kind.anyInput(subject, rng);
    return probeOf(subject, mutants, input, kind.run(subject, input));
  });
}

function probeOf(subject: Subject, mutants: readonly Ranked[], input: Input, result: Json): Probe {
  const right = JSON.stringify(result);
  const kills = mutants.flatMap(({ spec }, index) =>
    JSON.stringify(kindOf(subject).run(spec, input)) === right ? [] : [index],
  );
  return { input, result, kills };
}

function inputsOf(subject: Subject, rng: Rng): Input[] {
  const kind = kindOf(subject);
  return [
    ...range(RANDOM_INPUTS).map(() => kind.anyInput(subject, rng)),
    ...range(EDGE_INPUTS).map(() => kind.edgeInput(subject, rng)),
  ];
}

/** Few probes that kill the same mutants as all of them: the one that adds most comes first. */
export function covering(probes: readonly Probe[], mutants: readonly Ranked[]): Probe[] {
  const alive = new Set(mutants.keys());
  const chosen: Probe[] = [];
  for (;;) {
    const gain = ({ kills }: Probe): number => kills.filter((index) => alive.has(index)).length;
    const best = probes.reduce((one, other) => (gain(other) > gain(one) ? other : one));
    if (gain(best) === 0) return chosen;
    chosen.push(best);
    for (const index of best.kills) alive.delete(index);
  }
}

/** Share of the weight of the mutants that the probes kill. */
export function weightKilled(probes: readonly Probe[], mutants: readonly Ranked[]): number {
  const killed = new Set(probes.flatMap(({ kills }) => kills));
  return shareOf(mutants, (index) => killed.has(index));
}

export function shareOf(mutants: readonly Ranked[], isKilled: (index: number) => boolean): number {
  const all = mutants.reduce((sum, { weight }) => sum + weight, 0);
  return mutants.reduce((sum, { weight }, index) => sum + (isKilled(index) ? weight : 0), 0) / all;
}
