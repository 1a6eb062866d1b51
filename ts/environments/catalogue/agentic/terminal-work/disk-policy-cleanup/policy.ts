/** What the policies say about every file, which optional names to delete, and what a tree that is left earns. */
import { at } from "../../../lists.ts";
import { isDropped, policyAt, type Tree } from "./tree.ts";

/** A tree and what is asked of it. */
export interface Cleanup extends Tree {
  /** Bytes that have to be freed. */
  readonly free: number;
  /** Optional names that may be deleted. */
  readonly most: number;
}

/** What a script pays attention to; the gold script to all of it. */
export interface Skill {
  readonly nested: boolean;
  readonly keep: boolean;
  readonly keptLinks: boolean;
  readonly keptFolders: boolean;
  readonly open: boolean;
  readonly ages: boolean;
  readonly endings: boolean;
  /** A protected file is protected under all of its names. */
  readonly shared: boolean;
  /** Which optional names go: those that free the most, the largest, the oldest, all or none. */
  readonly choose: "best" | "largest" | "oldest" | "all" | "none";
}

export const FULL_SKILL: Skill = {
  nested: true,
  keep: true,
  keptLinks: true,
  keptFolders: true,
  open: true,
  ages: true,
  endings: true,
  shared: true,
  choose: "best",
};

export interface Decision {
  readonly kept: ReadonlySet<string>;
  readonly dropped: ReadonlySet<string>;
  /** Names by content, for what may go and what may stay. */
  readonly optional: ReadonlyMap<number, readonly string[]>;
}

export function decide(tree: Tree, skill: Skill = FULL_SKILL): Decision {
  const policies = skill.nested ? tree.policies : tree.policies.filter(({ folder }) => folder === "");
  const open = new Set(tree.open);
  const guarded = new Set<number>();
  const kept = new Set<string>();
  for (const [path, content] of tree.names) {
    const { young, never } = policyAt(policies, path);
    const isGuarded =
      (skill.ages && at(tree.contents, content).days < young) ||
      (skill.endings && never.some((ending) => path.endsWith(ending))) ||
      isListed(tree, path, skill) ||
      (skill.open && open.has(path));
    if (!isGuarded) continue;
    kept.add(path);
    guarded.add(content);
  }
  if (skill.shared) for (const [path, content] of tree.names) if (guarded.has(content)) kept.add(path);
  const dropped = new Set<string>();
  const optional = new Map<number, string[]>();
  for (const [path, content] of tree.names) {
    if (kept.has(path)) continue;
    if (isDropped(policyAt(policies, path), path, at(tree.contents, content).days)) dropped.add(path);
    else optional.set(content, [...(optional.get(content) ?? []), path]);
  }
  return { kept, dropped, optional };
}

function isListed({ keep, links }: Tree, path: string, skill: Skill): boolean {
  const targets = new Map(links);
  return keep.some((entry) => {
    if (entry.endsWith("/")) return skill.keptFolders && path.startsWith(entry);
    const target = targets.get(entry);
    return target === undefined ? skill.keep && entry === path : skill.keptLinks && target === path;
  });
}

/** Names that a script with this skill deletes. */
export function deleted(tree: Tree, most: number, skill: Skill = FULL_SKILL): Set<string> {
  const { dropped, optional } = decide(tree, skill);
  return new Set([...dropped, ...chosen(tree, optional, most, skill.choose)]);
}

function chosen(tree: Tree, optional: Decision["optional"], most: number, choose: Skill["choose"]): readonly string[] {
  const names = [...optional].flatMap(([content, paths]) =>
    paths.map((path) => ({ path, ...at(tree.contents, content) })),
  );
  const by = (value: (one: (typeof names)[number]) => number): string[] =>
    names
      .toSorted((a, b) => value(b) - value(a) || (a.path < b.path ? -1 : 1))
      .slice(0, most)
      .map(({ path }) => path);
  switch (choose) {
    case "none":
      return [];
    case "all":
      return names.map(({ path }) => path);
    case "largest":
      return by(({ bytes }) => bytes);
    case "oldest":
      return by(({ days }) => days);
    case "best":
      return freest(tree, optional, most).names;
  }
}

/** At most so many names whose files have the most bytes together: each file is taken with all of its names or not at all. */
export function freest(tree: Tree, optional: Decision["optional"], most: number): { bytes: number; names: string[] } {
  let best = Array.from({ length: most + 1 }, (): { bytes: number; names: string[] } => ({ bytes: 0, names: [] }));
  for (const [content, paths] of optional) {
    const { bytes } = at(tree.contents, content);
    best = best.map((without, count) => {
      const before = best[count - paths.length];
      if (before === undefined || before.bytes + bytes <= without.bytes) return without;
      return { bytes: before.bytes + bytes, names: [...before.names, ...paths] };
    });
  }
  return at(best, most);
}

/** Bytes of the files none of whose names are left. */
export function freed({ names, contents }: Tree, gone: ReadonlySet<string>): number {
  const left = new Set(names.filter(([path]) => !gone.has(path)).map(([, content]) => content));
  return contents.reduce((sum, { bytes }, content) => sum + (left.has(content) ? 0 : bytes), 0);
}

/** What is left of a tree. */
export interface Remains {
  /** Names of files that are gone. */
  readonly gone: readonly string[];
  /** Entries that were to stay and are other ones now: contents, links, policies, and all beside the tree. */
  readonly changed: number;
  /** Bytes of files that were not there before. */
  readonly added: number;
}

/** Shares of the task that were done, from 0 to 1. */
export function shares(
  cleanup: Cleanup,
  { gone, changed, added }: Remains,
): Record<"dropped" | "kept" | "freed", number> {
  const names = new Set(gone);
  const { kept, dropped, optional } = decide(cleanup);
  const chosenCount = [...optional.values()].flat().filter((path) => names.has(path)).length;
  const isKept = changed === 0 && ![...kept].some((path) => names.has(path));
  const isFreed = chosenCount <= cleanup.most && freed(cleanup, names) - added >= cleanup.free;
  const share = [...dropped].filter((path) => names.has(path)).length / Math.max(1, dropped.size);
  return { dropped: share, kept: isKept ? 1 : 0, freed: isFreed ? 1 : 0 };
}

export function gradeOf(cleanup: Cleanup, remains: Remains): number {
  const { dropped, kept, freed: enough } = shares(cleanup, remains);
  if (kept < 1) return 0;
  return dropped === 1 && enough === 1 ? 1 : 0.4 * dropped ** 2;
}
