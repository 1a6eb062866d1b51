/** tree-sync: a copy of a tree of files is brought up to date under rules of exclusion, within a limit of transferred bytes. */
import { z } from "zod";

import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { aboveBase, call, changedShare, type Facts } from "../records.ts";

interface File {
  path: string;
  hash: string;
  bytes: number;
}

interface Instance {
  source: File[];
  copy: File[];
  /** Endings and folders that the copy keeps as they are. */
  endings: string[];
  kept: string[];
  /** Bytes that may be transferred. */
  traffic: number;
}

interface World {
  readonly instance: Instance;
  readonly files: Map<string, Omit<File, "path">>;
  traffic: number;
}

/** By level: files, changes of each kind (new, changed, gone, moved). */
const SIZES = [
  [9, 2],
  [16, 3],
  [26, 4],
  [42, 6],
  [62, 9],
] as const;
const PAGE = 25;

const path = z.string().max(120);
const paths = z.object({ paths: z.array(path).min(1).max(20) });

const tools = {
  list: worldTool({
    description: `Files of a side in the order of their paths, ${PAGE} at a time, with hash and bytes`,
    parameters: z.object({ side: z.enum(["source", "copy"]), from: z.int().min(0).max(10_000) }),
    run: ({ instance, files }: World, { side, from }) => {
      const all = side === "source" ? instance.source : [...files].map(([one, rest]) => ({ path: one, ...rest }));
      const sorted = all.toSorted((a, b) => (a.path < b.path ? -1 : 1));
      return { files: sorted.slice(from, from + PAGE), of: sorted.length };
    },
  }),
  transfer: worldTool<World, typeof paths>({
    description: "Transfers files of the source into the copy, at the same paths",
    parameters: paths,
    run: (world, { paths: wanted }) => {
      const found = wanted.map((one) => fileOf(world.instance.source, one));
      const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
      if (world.traffic + bytes > world.instance.traffic) throw new Refusal("the rest of the traffic is not enough");
      world.traffic += bytes;
      for (const { path: one, ...rest } of found) world.files.set(one, rest);
      return { traffic_left: world.instance.traffic - world.traffic };
    },
  }),
  move: worldTool({
    description: "Gives a file of the copy another path, without traffic",
    parameters: z.object({ from: path, to: path }),
    run: ({ files }: World, { from, to }) => {
      const file = files.get(from);
      if (file === undefined) throw new Refusal(`the copy has no file ${from}`);
      if (files.has(to)) throw new Refusal(`the copy has a file ${to} already`);
      files.delete(from);
      files.set(to, file);
      return "moved";
    },
  }),
  remove: worldTool<World, typeof paths>({
    description: "Removes files of the copy",
    parameters: paths,
    run: ({ files }, { paths: unwanted }) => {
      for (const one of unwanted) if (!files.has(one)) throw new Refusal(`the copy has no file ${one}`);
      for (const one of unwanted) files.delete(one);
      return { files: files.size };
    },
  }),
};

export const treeSync = defineWorldRow<Instance, World>({
  id: "tree-sync",
  asks: "bring a copy of a file tree up to date under rules of exclusion and a limit of traffic that forces moves",
  make,
  effort: ({ source, copy }) => source.length + copy.length,
  canonical: ({ source, copy }) => [source.map(({ hash }) => hash), copy.map(({ hash }) => hash)],
  prompts: [
    (one) =>
      `Make the copy equal to the source: the same paths with the same hashes, nothing else. Exception: files that end in ${either(one.endings)} and everything below ${either(one.kept)} are excluded; in the copy they stay as they are, whatever the source has. You may transfer ${one.traffic} bytes, so files that were only moved have to be moved in the copy.`,
    (one) =>
      `Synchronise source -> copy.\n- excluded (do not bring over, do not remove, do not change): ${[...one.endings.map((end) => `*${end}`), ...one.kept.map((folder) => `${folder}/**`)].join(", ")}\n- what the source no longer has is removed from the copy\n- traffic: at most ${one.traffic} bytes; equal hashes mean equal content\n- a wrong file counts against a right one`,
    (one) =>
      `A backup is out of date. Bring it to the state of the source, with no more than ${one.traffic} bytes over the line. A file with the hash of another one in the backup needs no transfer, only another path. Never touch ${either([...one.kept.map((folder) => `files below ${folder}`), ...one.endings.map((end) => `files ending in ${end}`)], "or")} on either side: they do not belong to the backup's task.`,
    (one) =>
      `Update the mirror. In the end the mirror (called copy) has exactly the files of the source, apart from excluded ones: folders ${one.kept.join(", ")} and endings ${one.endings.join(", ")} are left alone in the mirror, and their files are not brought over. The line carries ${one.traffic} bytes in all, less than a full transfer of what differs by path.`,
  ],
  tools,
  world: (instance) => ({ instance, files: filesOf(instance.copy), traffic: 0 }),
  gold: (instance) => script(instance, steps(instance)),
  slips: (instance) => {
    const right = steps(instance);
    const all = { ...instance, endings: [], kept: [] };
    return {
      "removes nothing": script(instance, { ...right, removed: [] }),
      "transfers what only moved": script(instance, {
        ...right,
        moved: [],
        transferred: [...right.transferred, ...right.moved.map(([, to]) => to)],
      }),
      "forgets the exclusions": script(instance, steps(all)),
      "does not bring changed files over": script(instance, {
        ...right,
        transferred: right.transferred.filter((one) => !instance.copy.some((file) => file.path === one)),
      }),
      "removes one file too many": [
        ...script(instance, right),
        call("remove", { paths: [untouched(instance, right)] }),
      ],
    };
  },
  blankets: (instance) => ({
    "transfers everything": script(instance, {
      moved: [],
      removed: [],
      transferred: instance.source.map((one) => one.path),
    }),
    "empties the copy": script(instance, { moved: [], transferred: [], removed: instance.copy.map((one) => one.path) }),
    "removes what the source does not have": script(instance, {
      moved: [],
      transferred: [],
      removed: instance.copy.map((one) => one.path).filter((one) => !instance.source.some((file) => file.path === one)),
    }),
  }),
  grade: (instance, { files }) => {
    const before = factsOf(filesOf(instance.copy));
    const base = { ...before };
    for (const one of Object.keys(base)) if (!instance.source.some((file) => file.path === one)) delete base[one];
    const goal = goalOf(instance);
    return aboveBase(changedShare(before, goal, factsOf(files)), changedShare(before, goal, base));
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, changes] = at(SIZES, level - 1);
  const folders = distinct(4 + level, () => word(rng));
  const endings = [".log", ".tmp", ".bak"].slice(0, Math.min(3, 1 + Math.floor(level / 2)));
  const kept = folders.slice(0, level < 3 ? 1 : 2);
  const newPath = (): string =>
    `${rng.pick(folders)}/${word(rng)}${rng.pick([".txt", ".csv", ".md", ".txt", ".csv", ".md", ...endings])}`;
  const hashes = distinct(4 * count + 20, () => (2 ** 24 + rng.integer(2 ** 31)).toString(16));
  let used = 0;
  const file = (one: string): File => ({ path: one, hash: at(hashes, used++), bytes: between(rng, 20, 900) });
  const start = distinct(count, newPath).map(file);
  const order = shuffled(start, rng);
  const part = (kind: number): File[] => order.slice(kind * changes, (kind + 1) * changes);
  const [changed, gone, moved] = [part(0), part(1), part(2)];
  const fresh = distinct(changes, newPath).filter((one) => !start.some((other) => other.path === one));
  const targets = distinct(2 * changes, newPath).filter(
    (one) => !start.some((other) => other.path === one) && !fresh.includes(one),
  );
  const source = start
    .filter((one) => !gone.includes(one))
    .map((one): File => {
      if (changed.includes(one)) return file(one.path);
      const index = moved.indexOf(one);
      return index < 0 ? one : { ...one, path: targets[index] ?? one.path };
    });
  const draft = { source: [...source, ...fresh.map(file)], copy: start, endings, kept };
  const right = steps(draft);
  const bytes = (some: readonly string[]): number =>
    some.reduce((sum, one) => sum + fileOf(draft.source, one).bytes, 0);
  const all = steps({ ...draft, endings: [], kept: [] });
  const isVaried = right.moved.length > 0 && right.removed.length > 0 && right.transferred.length > 1;
  const isRuled = JSON.stringify(all) !== JSON.stringify(right);
  const overwrites = right.transferred.some((one) => start.some((other) => other.path === one));
  if (!isVaried || !isRuled || !overwrites) return null;
  // Less than a transfer of one moved file is to spare.
  return {
    ...draft,
    traffic: bytes(right.transferred) + Math.min(...right.moved.map(([, to]) => fileOf(draft.source, to).bytes)) - 1,
  };
}

interface Steps {
  readonly moved: readonly (readonly [from: string, to: string])[];
  readonly removed: readonly string[];
  readonly transferred: readonly string[];
}

type Draft = Omit<Instance, "traffic">;

/** What has to be done, by comparison of paths and hashes. */
function steps({ source, copy, endings, kept }: Draft): Steps {
  const isExcluded = (one: string): boolean => excluded(one, endings, kept);
  const wanted = source.filter((file) => !isExcluded(file.path));
  const present = copy.filter((file) => !isExcluded(file.path));
  const lacking = wanted.filter((file) => !present.some((other) => other.path === file.path));
  const spare = present.filter((file) => !wanted.some((other) => other.path === file.path));
  const moved = lacking.flatMap((file) => {
    const from = spare.find((other) => other.hash === file.hash);
    return from === undefined ? [] : [[from.path, file.path] as const];
  });
  return {
    moved,
    removed: spare.map((file) => file.path).filter((one) => !moved.some(([from]) => from === one)),
    transferred: wanted
      .filter((file) => !present.some((other) => other.path === file.path && other.hash === file.hash))
      .map((file) => file.path)
      .filter((one) => !moved.some(([, to]) => to === one)),
  };
}

/** A file of the copy that stays as it is. */
function untouched({ copy }: Draft, { moved, removed, transferred }: Steps): string {
  const changed = [...moved.map(([from]) => from), ...removed, ...transferred];
  return at(
    copy.filter((file) => !changed.includes(file.path)),
    0,
  ).path;
}

function excluded(one: string, endings: readonly string[], kept: readonly string[]): boolean {
  return endings.some((end) => one.endsWith(end)) || kept.some((folder) => one.startsWith(`${folder}/`));
}

function goalOf({ source, copy, endings, kept }: Instance): Facts {
  const isExcluded = (file: File): boolean => excluded(file.path, endings, kept);
  return factsOf(filesOf([...copy.filter(isExcluded), ...source.filter((file) => !isExcluded(file))]));
}

function filesOf(files: readonly File[]): Map<string, Omit<File, "path">> {
  return new Map(files.map(({ path: one, ...rest }) => [one, rest]));
}

function factsOf(files: World["files"]): Record<string, unknown> {
  return Object.fromEntries([...files].map(([one, { hash }]) => [one, hash]));
}

function fileOf(files: readonly File[], wanted: string): File {
  const file = files.find((one) => one.path === wanted);
  if (file === undefined) throw new Refusal(`the source has no file ${wanted}`);
  return file;
}

function script({ source, copy }: Draft, { moved, removed, transferred }: Steps): Script {
  const pages = (side: string, count: number) =>
    range(Math.ceil(count / PAGE)).map((page) => call("list", { side, from: page * PAGE }));
  const some = (tool: string, all: readonly string[]) =>
    range(Math.ceil(all.length / 20)).map((page) => call(tool, { paths: all.slice(20 * page, 20 * (page + 1)) }));
  return [
    ...pages("source", source.length),
    ...pages("copy", copy.length),
    ...moved.map(([from, to]) => call("move", { from, to })),
    ...some("remove", removed),
    ...some("transfer", transferred),
  ];
}

function either(words: readonly string[], joint = "or"): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} ${joint} ${words.at(-1) ?? ""}`;
}
