/** version-ranges: the newest version that each npm range takes, with carets, tildes, wildcards and prereleases. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Version {
  numbers: [number, number, number];
  /** Null for a release. */
  beta: number | null;
}
interface Bound {
  sign: "^" | "~" | ">=" | "<" | "=" | "x";
  version: Version;
  /** Numbers that are written; the others are wildcards. */
  shown: number;
}
export interface RangesProblem {
  versions: Version[];
  /** Alternatives of bounds that must all hold. */
  ranges: Bound[][][];
}

/** By level: versions, ranges. */
const SIZES = [
  [8, 3],
  [11, 4],
  [15, 6],
  [20, 8],
  [28, 11],
] as const;

export const versionRanges = itemRow<RangesProblem>({
  id: "version-ranges",
  asks: "the newest version that each npm range takes, with carets, tildes, alternatives and prereleases",
  form: "list",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `Published versions: ${versions(one)}.\n\nWhich is the newest that each of these npm ranges takes?\n${rangesText(one).join("\n")}\n\nList the versions in order, separated by commas; none where no version fits.`,
    (one) =>
      `By the rules of node-semver (without the option for prereleases), resolve\n${rangesText(one).join("\n")}\n\nagainst ${versions(one)}. Answer with the highest fitting version for each line, or none, comma-separated.`,
    (one) =>
      `A registry has ${versions(one)}.\n\nRanges in package.json files:\n${rangesText(one).join("\n")}\n\nWhat does npm install for each of them? Versions in order with commas, and none if nothing satisfies the range. A prerelease only fits where a bound of the same major, minor and patch has a prerelease, too.`,
    (one) =>
      `maxSatisfying, one range a line:\n${rangesText(one).join("\n")}\n\nCandidates: ${versions(one)}. Give the ${one.ranges.length} results with commas between (write none for null).`,
  ],
});

export function versionText({ numbers, beta }: Version): string {
  return `${numbers.join(".")}${beta === null ? "" : `-beta.${beta}`}`;
}

function versions({ versions: all }: RangesProblem): string {
  return all.map(versionText).join(", ");
}

export function rangesText({ ranges }: RangesProblem): string[] {
  return ranges.map((alternatives) => alternatives.map((bounds) => bounds.map(boundText).join(" ")).join(" || "));
}

function boundText({ sign, version, shown }: Bound): string {
  if (sign === "x") return [...version.numbers.slice(0, shown), "x"].join(".");
  if (shown < 3) return `${sign}${version.numbers.slice(0, shown).join(".")}`;
  return `${sign === "=" ? "" : sign}${versionText(version)}`;
}

function make(rng: Rng, level: Level) {
  const [count, wanted] = at(SIZES, level - 1);
  const all = new Map<string, Version>();
  const draw = (): Version => ({
    numbers: [rng.integer(3), rng.integer(4), rng.integer(4)],
    beta: rng.integer(4) === 0 ? between(rng, 1, 3) : null,
  });
  while (all.size < count) {
    const one = draw();
    all.set(versionText(one), one);
  }
  const list = shuffled(all.values(), rng);
  const bound = (): Bound[] => {
    const version = rng.integer(3) > 0 ? rng.pick(list) : draw();
    switch (rng.integer(7)) {
      case 0:
      case 1:
        return [{ sign: "^", version, shown: rng.pick([3, 3, 2]) }];
      case 2:
        return [{ sign: "~", version, shown: rng.pick([3, 3, 2, 1]) }];
      case 3:
        return [{ sign: "x", version, shown: rng.pick([1, 2]) }];
      case 4:
        return [{ sign: "=", version, shown: 3 }];
      default: {
        const [low, high] = [version, rng.pick(list)].toSorted(compare);
        return [
          { sign: ">=", version: low ?? version, shown: 3 },
          { sign: "<", version: high ?? version, shown: 3 },
        ];
      }
    }
  };
  const ranges = range(wanted).map(() => (level > 1 && rng.integer(4) === 0 ? [bound(), bound()] : [bound()]));
  const problem = { versions: list, ranges };
  const items = resolved(problem, "right");
  const misses = (["betas", "caret", "text"] as const).map((slip) => resolved(problem, slip));
  if (items.filter((item) => item === "none").length > wanted / 3 || new Set(items).size < Math.min(wanted, 3))
    return null;
  if (misses[0]?.join() === items.join() || (level > 2 && misses[1]?.join() === items.join())) return null;
  return { problem, items, misses, effort: count * wanted };
}

function compare(a: Version, b: Version): number {
  const index = range(3).find((place) => a.numbers[place] !== b.numbers[place]);
  if (index !== undefined) return at(a.numbers, index) - at(b.numbers, index);
  return (a.beta ?? Infinity) === (b.beta ?? Infinity) ? 0 : (a.beta ?? Infinity) - (b.beta ?? Infinity);
}

/** Slips: prereleases count like releases, a caret keeps only the major number, or versions are compared as texts. */
function resolved({ versions: all, ranges }: RangesProblem, how: "right" | "betas" | "caret" | "text"): string[] {
  return ranges.map((alternatives) => {
    const fitting = all.filter((version) =>
      alternatives.some(
        (bounds) => bounds.every((one) => holds(version, one, how)) && (how === "betas" || isOpen(version, bounds)),
      ),
    );
    const sorted =
      how === "text"
        ? fitting.toSorted((a, b) => (versionText(a) < versionText(b) ? -1 : 1))
        : fitting.toSorted(compare);
    const newest = sorted.at(-1);
    return newest === undefined ? "none" : versionText(newest);
  });
}

/** Whether a prerelease is meant by one of the bounds. */
function isOpen({ numbers, beta }: Version, bounds: readonly Bound[]): boolean {
  return (
    beta === null ||
    bounds.some(
      ({ version, shown }) => shown === 3 && version.beta !== null && version.numbers.join() === numbers.join(),
    )
  );
}

function holds(version: Version, { sign, version: own, shown }: Bound, how: string): boolean {
  const numbers = own.numbers.map((one, index) => (index < shown ? one : 0)) as Version["numbers"];
  const low: Version = { numbers, beta: shown === 3 ? own.beta : null };
  if (sign === "<") return compare(version, low) < 0;
  if (sign === "=") return compare(version, low) === 0;
  // Below the bound 1.0.0 there is no prerelease of 1.0.0 either.
  const below = (index: number): boolean =>
    range(index + 1).every((place) => version.numbers[place] === numbers[place]);
  const isAbove = compare(version, low) >= 0 || (sign === "x" && below(shown - 1));
  if (!isAbove || sign === ">=") return isAbove;
  if (sign === "x") return below(shown - 1);
  if (sign === "~") return below(Math.min(1, shown - 1));
  const first = how === "caret" ? 0 : numbers.findIndex((one) => one !== 0);
  return below(Math.min(shown - 1, first < 0 ? shown - 1 : first));
}
