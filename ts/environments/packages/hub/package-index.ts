/**
 * The search of a hub: name, newest version, description and keywords of each package, in memory. The registry's search reads the files of all
 * packages for each question, which takes a second over a thousand of them.
 *
 * The folder is read once. Requests that may change a package mark it, and the next search reads it again. It holds as long as this process
 * alone writes the folder. Does not know who may read: the server asks that first.
 */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../../files/file-presence.ts";
import { ENVIRONMENT_KEYWORD, saysEnvironment } from "../environment-package.ts";
import { packageReport, reportCounts } from "../package-report.ts";
import { type PackageRecord, readPackageRecord } from "./package-record.ts";

/** The most that a search gives, like the public registry. */
const MOST = 250;
const DEFAULT_SIZE = 20;
/** Files that are read at a time. */
const AT_ONCE = 32;
const KEYWORD = "keywords:";

export type CheckCounts = ReturnType<typeof reportCounts>;

export interface IndexedPackage {
  readonly name: string;
  /** Its newest version. */
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly isEnvironment: boolean;
  /** How the checks of its report ended; null without a report. */
  readonly checks: CheckCounts | null;
}

export class HubIndex {
  readonly #folder: string;
  readonly #packages = new Map<string, IndexedPackage>();
  /** Packages whose file may be newer than what stands here. */
  readonly #changed = new Set<string>();
  /** How many requests that may change a package are under way. */
  readonly #inFlight = new Map<string, number>();

  #lastRefresh: Promise<void> = Promise.resolve();

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Reads the packages of a registry's folder; a folder that does not exist has none.
   *
   * @throws PrlError `PRL_IO`
   */
  static async read(folder: string): Promise<HubIndex> {
    const index = new HubIndex(folder);
    for (const name of await packageNames(folder)) index.#changed.add(name);
    await index.#refresh();
    return index;
  }

  /** Notes a request that may change a package; its end is the returned function. */
  changing(name: string): () => void {
    this.#inFlight.set(name, (this.#inFlight.get(name) ?? 0) + 1);
    return () => {
      const left = (this.#inFlight.get(name) ?? 1) - 1;
      if (left > 0) this.#inFlight.set(name, left);
      else this.#inFlight.delete(name);
      this.#changed.add(name);
    };
  }

  /**
   * The packages that have every word of a text in their name, description or keywords, regardless of case; a word `keywords:x` asks for the
   * keyword x. First the package of this name, then names that begin with the text, then others, each by name.
   *
   * @throws PrlError `PRL_IO`
   */
  async search(text: string, from = 0, size = DEFAULT_SIZE): Promise<{ found: IndexedPackage[]; total: number }> {
    await this.#refresh();
    const words = text.toLowerCase().split(/\s+/u).filter(Boolean);
    const plain = words.filter((word) => !word.startsWith(KEYWORD)).join(" ");
    const fitting = [...this.#packages.values()].filter((found) => words.every((word) => hasWord(found, word)));
    const ranked = fitting
      .map((found) => ({ found, rank: rankOf(found, plain) }))
      .sort((a, b) => a.rank - b.rank || (a.found.name < b.found.name ? -1 : 1));
    const first = Math.max(0, from);
    const end = first + Math.min(MOST, Math.max(0, size));
    return { found: ranked.slice(first, end).map(({ found }) => found), total: ranked.length };
  }

  /** The packages that are environments, by name. Throws PRL_IO. */
  async environments(): Promise<IndexedPackage[]> {
    await this.#refresh();
    const found = [...this.#packages.values()].filter(({ isEnvironment }) => isEnvironment);
    return found.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The record of one environment; null where the hub has none of this name. Throws PRL_IO. */
  async environment(name: string): Promise<PackageRecord | null> {
    await this.#refresh();
    return this.#packages.get(name)?.isEnvironment === true ? readPackageRecord(this.#folder, name) : null;
  }

  /** One at a time, so that no search goes on while another still reads what changed before both. */
  #refresh(): Promise<void> {
    const refreshed = this.#lastRefresh.then(() => this.#readChanged());
    this.#lastRefresh = refreshed.catch(() => undefined);
    return refreshed;
  }

  async #readChanged(): Promise<void> {
    const names = [...new Set([...this.#changed, ...this.#inFlight.keys()])];
    this.#changed.clear();
    for (let at = 0; at < names.length; at += AT_ONCE)
      await Promise.all(names.slice(at, at + AT_ONCE).map((name) => this.#readPackage(name)));
  }

  async #readPackage(name: string): Promise<void> {
    const found = await readPackageRecord(this.#folder, name).catch((error: unknown) => {
      this.#changed.add(name);
      throw error;
    });
    if (found === null) this.#packages.delete(name);
    else this.#packages.set(name, indexed(found));
  }
}

/**
 * The package that a path of the registry's interface names, or null: `/name`, `/@owner%2fname/-rev/1`, `/-/package/@owner/name/dist-tags/x`.
 */
export function packageOfPath(path: string): string | null {
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return null;
  }
  const [, name] = /^\/(?:-\/package\/)?((?:@[^/]+\/)?[^/@-][^/]*)(?:\/|$)/u.exec(decoded) ?? [];
  return name === undefined || name.split("/").some((part) => part.startsWith(".")) ? null : name;
}

function hasWord({ name, description, keywords }: IndexedPackage, word: string): boolean {
  if (word.startsWith(KEYWORD)) {
    const keyword = word.slice(KEYWORD.length);
    return keywords.some((own) => own.toLowerCase() === keyword);
  }
  return [name, description, ...keywords].some((text) => text.toLowerCase().includes(word));
}

function rankOf({ name }: IndexedPackage, text: string): number {
  const bare = name.slice(name.indexOf("/") + 1).toLowerCase();
  if (name.toLowerCase() === text || bare === text) return 0;
  if (bare.startsWith(text)) return 1;
  return bare.includes(text) ? 2 : 3;
}

function indexed({ name, version, description, keywords, manifest }: PackageRecord): IndexedPackage {
  const report = packageReport(manifest);
  const isEnvironment = saysEnvironment(manifest) && keywords.includes(ENVIRONMENT_KEYWORD);
  return { name, version, description, keywords, isEnvironment, checks: report === null ? null : reportCounts(report) };
}

async function packageNames(folder: string): Promise<string[]> {
  const names: string[] = [];
  for (const name of await foldersIn(folder)) {
    if (name.startsWith("@")) for (const bare of await foldersIn(join(folder, name))) names.push(`${name}/${bare}`);
    else names.push(name);
  }
  return names;
}

async function foldersIn(folder: string): Promise<string[]> {
  const entries = (await ifThere(readdir(folder, { withFileTypes: true }), folder)) ?? [];
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith(".")).map(({ name }) => name);
}
