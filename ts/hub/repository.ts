/**
 * The files of a dataset's repository at a revision.
 *
 * A branch or tag becomes a commit once and is then taken from the cache for a while; the list of files of a commit never changes.
 */
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { writeWhole } from "./cache-file.ts";
import { requestJson } from "./request.ts";
import type { HubSettings } from "./settings.ts";

/** A file of the repository and the digest of its content: SHA-256 of large files, git's SHA-1 of small ones. */
export interface HubFile {
  readonly path: string;
  readonly bytes: number;
  readonly digest: { readonly kind: "sha256" | "git"; readonly hex: string };
}

export interface HubSnapshot {
  readonly dataset: string;
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const COMMIT = /^[0-9a-f]{40}$/u;
const DATASET = /^[\w.-]+\/[\w.-]+$|^[\w-][\w.-]*$/u;

/** Folder of a dataset in the cache. */
export function datasetRoot({ root }: HubSettings, dataset: string): string {
  return join(root, `datasets--${dataset.replaceAll("/", "--")}`);
}

/**
 * Errors: PRL_HUB_UNKNOWN (no such dataset or revision), PRL_HUB_AUTH, PRL_HUB_OFFLINE (not in the cache), PRL_HUB_UNREACHABLE, PRL_HUB_ANSWER.
 */
export async function openSnapshot(
  settings: HubSettings,
  dataset: string,
  revision: string,
  signal?: AbortSignal,
): Promise<HubSnapshot> {
  if (!DATASET.test(dataset) || dataset.includes("..")) {
    throw new PrlError("PRL_HUB_UNKNOWN", `"${dataset}" is no name of a dataset; owner/name is one`);
  }
  const commit = COMMIT.test(revision) ? revision : await commitOf(settings, dataset, revision, signal);
  const listed = join(datasetRoot(settings, dataset), "trees", `${commit}.json`);
  const known = await readJson(listed);
  if (known !== null) return { dataset, commit, files: filesSchema.parse(known) };
  if (settings.offline) throw offline(dataset, revision);
  const files = await listFiles(settings, dataset, commit, signal);
  await mkdir(dirname(listed), { recursive: true });
  await writeWhole(listed, JSON.stringify(files));
  return { dataset, commit, files };
}

async function commitOf(
  settings: HubSettings,
  dataset: string,
  revision: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const path = join(datasetRoot(settings, dataset), "refs", encodeURIComponent(revision));
  const [known, age] = await readFile(path, "utf8")
    .then(async (text) => [text.trim(), Date.now() - (await stat(path)).mtimeMs] as const)
    .catch(() => [null, Infinity] as const);
  if (known !== null && COMMIT.test(known) && (settings.offline || age < settings.refMs)) return known;
  if (settings.offline) throw offline(dataset, revision);
  const { value } = await requestJson(settings, {
    url: `${settings.endpoint}/api/datasets/${dataset}/revision/${encodeURIComponent(revision)}`,
    what: `the dataset ${dataset} at ${revision}`,
    signal,
  });
  const answer = z.object({ sha: z.string().regex(COMMIT) }).safeParse(value);
  if (!answer.success) throw new PrlError("PRL_HUB_ANSWER", `the dataset ${dataset}: the hub names no commit`);
  await mkdir(dirname(path), { recursive: true });
  await writeWhole(path, answer.data.sha);
  return answer.data.sha;
}

const entrySchema = z.object({
  type: z.string(),
  path: z.string(),
  size: z.number().optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.number() }).nullish(),
});

const filesSchema = z.array(
  z.object({
    path: z.string(),
    bytes: z.number(),
    digest: z.object({ kind: z.enum(["sha256", "git"]), hex: z.string() }),
  }),
);

const MOST_PAGES = 1000;

async function listFiles(
  settings: HubSettings,
  dataset: string,
  commit: string,
  signal: AbortSignal | undefined,
): Promise<HubFile[]> {
  const what = `the files of the dataset ${dataset}`;
  const files: HubFile[] = [];
  let url: string | null = `${settings.endpoint}/api/datasets/${dataset}/tree/${commit}?recursive=true`;
  for (let page = 0; url !== null; page++) {
    if (page === MOST_PAGES) throw new PrlError("PRL_HUB_ANSWER", `${what}: the list has no end`);
    const { value, headers } = await requestJson(settings, { url, what, signal });
    const entries = z.array(entrySchema).safeParse(value);
    if (!entries.success) throw new PrlError("PRL_HUB_ANSWER", `${what}: ${z.prettifyError(entries.error)}`);
    for (const { type, path, size, oid, lfs } of entries.data) {
      if (type !== "file") continue;
      checkPath(what, path);
      const hex = lfs?.oid.replace(/^sha256:/u, "") ?? oid ?? "";
      const kind = lfs === null || lfs === undefined ? "git" : "sha256";
      if (!(kind === "git" ? COMMIT : /^[0-9a-f]{64}$/u).test(hex))
        throw new PrlError("PRL_HUB_ANSWER", `${what}: ${path} has no digest`);
      files.push({ path, bytes: lfs?.size ?? size ?? 0, digest: { kind, hex } });
    }
    url = nextPage(headers.get("link"), url);
  }
  return files;
}

/** The hub names the next page in a Link header; a link to another host is not followed. */
function nextPage(link: string | null, from: string): string | null {
  const next = /<([^>]+)>;\s*rel="next"/u.exec(link ?? "")?.[1];
  if (next === undefined) return null;
  const url = new URL(next, from);
  return url.origin === new URL(from).origin ? url.href : null;
}

/** Refuses unsafe paths, because they become paths in the cache. */
function checkPath(what: string, path: string): void {
  const parts = path.split("/");
  if (parts.every((part) => part !== "" && part !== "." && part !== "..") && !/[\\\0]/u.test(path)) return;
  throw new PrlError("PRL_HUB_ANSWER", `${what}: the path ${JSON.stringify(path)} is not one to write to`);
}

async function readJson(path: string): Promise<unknown> {
  const text = await ifThere(readFile(path, "utf8"), path);
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return null; // The file is damaged, so the hub is asked again.
  }
}

function offline(dataset: string, revision: string): PrlError {
  return new PrlError(
    "PRL_HUB_OFFLINE",
    `the dataset ${dataset} at ${revision} is not in the cache and HF_HUB_OFFLINE forbids to fetch it: run once with the network, or name a local file`,
  );
}
