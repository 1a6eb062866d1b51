/** disk-policy-cleanup: files of a tree are deleted under nested policies, lists, links and a number of bytes that must become free. */
import type { Rng } from "../../../../../random/rng.ts";
import { at } from "../../../lists.ts";
import { type Commands, defineBoxRow, type LeftBox, type Level } from "../../../row.ts";
import {
  type Cleanup,
  decide,
  deleted,
  freed,
  FULL_SKILL,
  gradeOf,
  type Remains,
  shares,
  type Skill,
} from "./policy.ts";
import { cleaningCommands, goldSteps, treeProgram } from "./scripts.ts";
import { below, drawTree, listText, SIZES } from "./tree.ts";
import { WORDINGS } from "./wordings.ts";

/** Entries of a tree that are looked at. */
const MOST_ENTRIES = 3_000;
/** Between the best choice and the next one, so that no slip of a few bytes decides. */
const LEAST_GAP = 400;
const LEAST_DROPPED = 3;
/** Permission bits without which a folder cannot be looked into. */
const OPEN_FOLDER = 0o500;
const DAY_S = 86_400;

const SLIPS: Readonly<Record<string, Partial<Skill>>> = {
  "ignores the list of kept files": { keep: false },
  "ignores open files": { open: false },
  "ignores nested policies": { nested: false },
  "protects one name of a file only": { shared: false },
  "keeps a link and not its target": { keptLinks: false },
  "does not keep folders": { keptFolders: false },
  "deletes young files": { ages: false, choose: "all" },
  "ignores protected endings": { endings: false, choose: "all" },
  "takes the largest names": { choose: "largest" },
  "takes the oldest names": { choose: "oldest" },
  "takes all that is not protected": { choose: "all" },
  "deletes only what has to go": { choose: "none" },
};
/** Slips that must cost something, from the level on at which their trap exists. */
const TRAPS = [
  [1, "ignores the list of kept files"],
  [2, "ignores open files"],
  [2, "ignores nested policies"],
  [3, "protects one name of a file only"],
  [3, "keeps a link and not its target"],
  [3, "takes the largest names"],
  [4, "does not keep folders"],
] as const;

export const diskPolicyCleanup = defineBoxRow<Cleanup, Remains>({
  id: "disk-policy-cleanup",
  asks: "free bytes of a tree under nested policies, lists, hard and symbolic links, without touching what is protected",
  make,
  effort: ({ names, policies, links, keep, open }) =>
    names.length + 6 * policies.length + 3 * (links.length + keep.length + open.length),
  prompts: WORDINGS,
  start: (one) => ({
    files: { [one.keepList]: listText(one.keep), [one.openList]: listText(one.open) },
    setUp: treeProgram(one),
  }),
  gold: goldSteps,
  slips: (one) =>
    Object.fromEntries(
      Object.entries(SLIPS)
        .filter(([, skill]) => earnedBy(one, skill) < 1)
        .map(([name, skill]): [string, Commands] => [name, cleaningCommands(one, { ...FULL_SKILL, ...skill })]),
    ),
  blankets: (one) => ({
    "deletes the tree": [`rm -rf ${one.root}`],
    "deletes every file": [`find ${one.root} -type f ! -name ${one.policyName} -delete`],
    "deletes what the root's policy names": [
      `for end in $(sed -n 's/^drop = //p' ${one.root}/${one.policyName}); do find ${one.root} -type f -name "*$end" -delete; done`,
    ],
    "empties large files": [`find ${one.root} -type f -size +8k -exec truncate -s 0 {} +`],
  }),
  look,
  grade: gradeOf,
  parts: shares,
});

function make(rng: Rng, level: Level): Cleanup | null {
  const tree = drawTree(rng, level);
  const { most } = at(SIZES, level - 1);
  const { dropped, optional } = decide(tree);
  if (dropped.size < LEAST_DROPPED + level || optional.size < most + 2) return null;
  const gain = (count: number, choose: Skill["choose"]): number =>
    freed(tree, deleted(tree, count, { ...FULL_SKILL, choose }));
  const best = gain(most, "best");
  const others = [gain(most - 1, "best"), gain(most, "largest"), gain(most, "oldest"), gain(most, "none")];
  const next = Math.max(...others.filter((one) => one < best));
  if (best - next < LEAST_GAP) return null;
  const one = { ...tree, most, free: Math.floor((best + next) / 2) };
  return TRAPS.every(([from, name]) => level < from || earnedBy(one, SLIPS[name] ?? {}) < 1) ? one : null;
}

/** What a script of this skill earns, without a sandbox. */
function earnedBy(one: Cleanup, skill: Partial<Skill>): number {
  const gone = deleted(one, one.most, { ...FULL_SKILL, ...skill });
  return gradeOf(one, { gone: [...gone], changed: 0, added: 0 });
}

async function look(one: Cleanup, { list }: LeftBox): Promise<Remains> {
  const [inside, outside] = [await list(one.root, MOST_ENTRIES), await list(one.beside, MOST_ENTRIES)];
  const all = one.names.map(([path]) => path).toSorted();
  if (inside === null || outside === null) return { gone: all, changed: 1, added: 0 };
  const entries = new Map(inside.map((entry) => [entry.path.slice(one.root.length + 1), entry]));
  const now = Date.parse(`${one.today}T00:00:00Z`) / 1000;
  const isSame = (path: string, bytes: number, age: number): boolean => {
    const entry = entries.get(path);
    return (
      entry?.kind === "file" && entry.bytes === bytes && Math.floor(entry.modifiedAt.getTime() / 1000) === now - age
    );
  };
  const contents = new Map(one.names.map(([path, content]) => [path, at(one.contents, content)]));
  const wrongFiles = [...contents].filter(
    ([path, { bytes, days, more }]) => entries.has(path) && !isSame(path, bytes, days * DAY_S + more),
  );
  const policies = one.policies.map(({ folder }) => below(folder, one.policyName));
  const expected = new Set([...contents.keys(), ...policies, ...one.links.map(([path]) => path)]);
  const lost = [
    ...policies.filter(
      (path) => Math.floor((entries.get(path)?.modifiedAt.getTime() ?? 0) / 1000) !== now - 400 * DAY_S,
    ),
    ...one.links.filter(([path]) => entries.get(path)?.kind !== "symlink"),
    ...inside.filter(({ kind, mode }) => kind === "directory" && (mode & OPEN_FOLDER) !== OPEN_FOLDER),
    ...one.others.filter((name) => !outside.some((entry) => entry.path === `${one.beside}/${name}` && entry.bytes > 0)),
  ];
  const added = inside.filter(({ kind, path }) => kind === "file" && !expected.has(path.slice(one.root.length + 1)));
  return {
    gone: all.filter((path) => !entries.has(path)),
    changed: wrongFiles.length + lost.length,
    added: added.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
