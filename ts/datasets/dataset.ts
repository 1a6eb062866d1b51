/** Finds the files of a split in a dataset's repository. */
import { PrlError } from "../errors.ts";
import { download, type HubFile, type HubSettings, hubSettings, openSnapshot } from "../hub/index.ts";
import { type Format, formatOf, FORMATS } from "./files.ts";

export interface DatasetReference {
  /** `owner/name` on the hub. */
  readonly dataset: string;
  /** `train`, `test`, `validation`, ... */
  readonly split: string;
  /** Name of the config, where a dataset has several. */
  readonly config?: string | undefined;
  /** Branch, tag or commit; default `main`. Only a commit never changes. */
  readonly revision?: string | undefined;
  /**
   * Pattern of the files, or several, where their names do not show the split: `*` matches text without a slash, `**` any text. `split` has
   * no effect then.
   */
  readonly files?: string | readonly string[] | undefined;
}

/** Downloads at the same time: a dataset of many files comes fast, and the hub is not flooded. */
const DOWNLOADS = 4;

/** Local paths of the split's files in the order of their names, downloaded where they are not in the cache. Errors: PRL_HUB_... */
export async function datasetFiles(
  reference: DatasetReference,
  signal?: AbortSignal,
  settings: HubSettings = hubSettings(),
): Promise<string[]> {
  const { dataset, revision = "main" } = reference;
  const snapshot = await openSnapshot(settings, dataset, revision, signal);
  const files = splitFiles(reference, snapshot.files);
  const paths: string[] = [];
  for (let at = 0; at < files.length; at += DOWNLOADS) {
    const some = files.slice(at, at + DOWNLOADS);
    paths.push(...(await Promise.all(some.map((file) => download(settings, snapshot, file, { signal })))));
  }
  return paths;
}

/** Names of a split in file names. */
const ALIASES: readonly (readonly string[])[] = [
  ["train", "training"],
  ["validation", "valid", "val", "dev"],
  ["test", "testing", "eval", "evaluation"],
];

/** Errors: PRL_HUB_UNKNOWN when no file fits, or files of several configs do; the message lists the files. */
export function splitFiles(reference: DatasetReference, all: readonly HubFile[]): HubFile[] {
  const { dataset, split, config, files: pattern } = reference;
  const data = all.filter(({ path }) => formatOf(path) !== null);
  const listed = (): string => {
    const names = data.map(({ path }) => path);
    return `its data files: ${names.slice(0, 20).join(", ") || "none"}${names.length > 20 ? ", ..." : ""}`;
  };
  const fail = (problem: string): never => {
    throw new PrlError("PRL_HUB_UNKNOWN", `the dataset ${dataset}: ${problem}; ${listed()}`);
  };
  if (pattern !== undefined) {
    const globs = typeof pattern === "string" ? [pattern] : pattern;
    const matching = globs.map((glob) => data.filter(({ path }) => globPattern(glob).test(path)));
    const none = globs.find((_, index) => matching[index]?.length === 0);
    return none === undefined ? byName([...new Set(matching.flat())]) : fail(`no data file matches ${none}`);
  }
  const names = ALIASES.find((aliases) => aliases.includes(split)) ?? [split];
  const found = data.filter(({ path }) => names.some((name) => has(path, name)));
  const inConfig = config === undefined ? found : found.filter(({ path }) => has(path, config));
  if (inConfig.length === 0) {
    const of = config === undefined ? "" : ` of the config "${config}"`;
    return fail(`no file looks like the split "${split}"${of}; name its files with \`files\``);
  }
  const format = FORMATS.find((known) => inConfig.some(({ path }) => formatOf(path) === known)) as Format;
  const chosen = byName(inConfig.filter(({ path }) => formatOf(path) === format));
  const folders = [...new Set(chosen.map(({ path }) => withoutSplit(path, names)))];
  if (folders.length > 1) return fail(`the split "${split}" is there several times; name a \`config\` or \`files\``);
  return chosen;
}

/** Is the word a part of the path, between separators? */
function has(path: string, word: string): boolean {
  const escaped = word.replaceAll(/[.*+?^${}()|[\]\\]/gu, "\\$&");
  return new RegExp(`(^|[/._-])${escaped}([/._-]|$)`, "iu").test(path);
}

/** `00000-of-00004`, and the digest that older datasets put behind it. */
const SHARD_WORD = /^(\d+|of|[0-9a-f]{16})$/u;

/** The path without the split's name and the numbers of shards: it is equal for all files of one config. */
function withoutSplit(path: string, names: readonly string[]): string {
  const words = path.toLowerCase().split(/[/._-]/u);
  return words.filter((word) => !names.includes(word) && !SHARD_WORD.test(word)).join("/");
}

function byName(files: readonly HubFile[]): HubFile[] {
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

function globPattern(pattern: string): RegExp {
  const parts = pattern.split(/(\*\*\/?|\*)/u).map((part) => {
    if (part.startsWith("**")) return ".*";
    return part === "*" ? "[^/]*" : part.replaceAll(/[.+?^${}()|[\]\\]/gu, "\\$&");
  });
  return new RegExp(`^${parts.join("")}$`, "u");
}
