/** dependency-lock: the preferred set of package versions that meets all version ranges. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

/** A package in versions from the first to the last, both included. */
interface Need {
  on: number;
  from: number;
  to: number;
}
export interface LockProblem {
  names: string[];
  /** By package and version, from 1 on. */
  needs: Need[][][];
}

/** By level: packages, versions of each, needs of a version, least and most tried versions. */
const SIZES = [
  [3, 3, 1, 4, 9],
  [4, 3, 1, 10, 20],
  [5, 4, 1, 21, 50],
  [6, 4, 2, 51, 140],
  [8, 5, 2, 141, 900],
] as const;

export const dependencyLock = itemRow<LockProblem>({
  id: "dependency-lock",
  asks: "the newest versions of packages that satisfy each other's version ranges",
  form: "list",
  tries: 100,
  make: draw,
  prompts: [
    (one) =>
      `${catalogue(one)}\n\nChoose one version of every package so that all needs of the chosen versions are met. Among all such choices take the one with the newest ${one.names[0]}, then the newest ${one.names[1]}, and so on in the order above. ${format(one)}`,
    (one) =>
      `Write a lock file. All of ${one.names.join(", ")} are installed, each in one version; whatever an installed version needs must hold.\n\n${catalogue(one)}\n\nPreference: the highest possible version of ${one.names[0]}; with this settled, the highest of ${one.names[1]}; then the others in the listed order. ${format(one)}`,
    (one) =>
      `A package manager compares solutions lexicographically: higher versions of packages that are listed earlier win. Which solution does it choose?\n\n${catalogue(one)}\n\nEvery package must be present, and every need of a present version fulfilled. ${format(one)}`,
    (one) =>
      `Resolve these dependencies:\n\n${catalogue(one)}\n\nA solution gives each package a version such that no requirement of these versions is violated. Maximise the version of ${one.names[0]} first, next that of ${one.names[1]}, and so on to ${one.names.at(-1)}. ${format(one)}`,
  ],
});

function format({ names }: LockProblem): string {
  return `Answer with the ${names.length} version numbers in the order of the packages, separated by commas.`;
}

function catalogue({ names, needs }: LockProblem): string {
  return needs
    .flatMap((versions, index) =>
      versions.map((all, version) => {
        const texts = all.map(({ on, from, to }) => `${at(names, on)} ${from === to ? from : `${from}-${to}`}`);
        return `${at(names, index)} ${version + 1} needs ${texts.length === 0 ? "nothing" : texts.join(" and ")}`;
      }),
    )
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [count, versions, most, least, largest] = at(SIZES, level - 1);
  const names = distinct(count, () => word(rng, 1)).toSorted();
  const needs = range(count).map((index) =>
    range(versions).map(() =>
      range(between(rng, 0, most)).flatMap((): Need[] => {
        const on = rng.integer(count);
        const from = between(rng, 1, versions);
        return on === index ? [] : [{ on, from, to: Math.min(versions, from + rng.integer(2)) }];
      }),
    ),
  );
  const { chosen, tried } = resolved(needs);
  if (chosen === null || tried < least || tried > largest) return null;
  const newest = range(count).map(() => versions);
  // The newest of everything must not do.
  if (chosen.join() === newest.join()) return null;
  const oldest = resolved(
    needs.map((all) => all.toReversed()),
    (version) => versions + 1 - version,
  ).chosen;
  const misses = [
    newest,
    oldest?.map((version) => versions + 1 - version) ?? newest,
    chosen.map((version) => Math.max(1, version - 1)),
    greedy(needs),
  ];
  return {
    problem: { names, needs },
    items: chosen.map(String),
    misses: misses.map((one) => one.map(String)),
    effort: tried,
  };
}

/** The first solution in the order of preference by search over versions from the newest on. `meaning`: the version of a number in a range. */
function resolved(
  needs: readonly (readonly (readonly Need[])[])[],
  meaning: (version: number) => number = (version) => version,
): { chosen: number[] | null; tried: number } {
  let tried = 0;
  const isAllowed = (chosen: readonly number[]): boolean =>
    chosen.every((version, index) =>
      at(at(needs, index), version - 1).every(({ on, from, to }) => {
        const other = chosen[on];
        return other === undefined || (meaning(other) >= from && meaning(other) <= to);
      }),
    );
  const search = (chosen: number[]): number[] | null => {
    if (chosen.length === needs.length) return chosen;
    for (let version = at(needs, chosen.length).length; version > 0; version--) {
      tried += 1;
      if (!isAllowed([...chosen, version])) continue;
      const found = search([...chosen, version]);
      if (found !== null) return found;
    }
    return null;
  };
  return { chosen: search([]), tried };
}

/** The newest version that fits the earlier choices, without looking ahead. */
function greedy(needs: readonly (readonly (readonly Need[])[])[]): number[] {
  const chosen: number[] = [];
  for (const versions of needs) {
    const fits = range(versions.length)
      .map((index) => versions.length - index)
      .find((version) =>
        at(versions, version - 1).every(
          ({ on, from, to }) => chosen[on] === undefined || (at(chosen, on) >= from && at(chosen, on) <= to),
        ),
      );
    chosen.push(fits ?? versions.length);
  }
  return chosen;
}
