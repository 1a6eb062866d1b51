/**
 * The files of a repository at a revision.
 *
 * A dataset's branch or tag becomes a commit once and is then taken from the cache for a while; the list of files of a commit never changes.
 */
import { mkdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { atomicWriteFile } from "../files/atomic-write.ts";
import { requestJson } from "./request.ts";
import type { HubSettings, RepositoryKind } from "./settings.ts";

export interface HubRepository {
  readonly kind: RepositoryKind;
  /** `owner/name`. */
  readonly name: string;
}

/** A file of the repository and the digest of its content: SHA-256 of large files, git's SHA-1 of small ones. */
export interface HubFile {
  readonly path: string;
  readonly bytes: number;
  readonly digest: { readonly kind: "sha256" | "git"; readonly hex: string };
}

export interface HubSnapshot {
  readonly repository: HubRepository;
  readonly commit: string;
  readonly files: readonly HubFile[];
}

const COMMIT = /^[0-9a-f]{40}$/u;
const NAME = /^[\w.-]+\/[\w.-]+$|^[\w-][\w.-]*$/u;

/** Whether the hub could have a repository of this name, and the cache a folder for it. */
export function isRepositoryName(name: string): boolean {
  return (
    NAME.test(name) && !name.includes("..") && !name.includes("--") && name.split("/").every((part) => part !== ".")
  );
}

/** A full hash of a commit, which never changes its meaning. */
export function isCommit(revision: string): boolean {
  return COMMIT.test(revision);
}

/** For messages: `the dataset owner/name`. */
export function repositoryText({ kind, name }: HubRepository): string {
  return `the ${kind} ${name}`;
}

/** Folder of a repository in the cache. */
export function repositoryRoot({ caches }: HubSettings, { kind, name }: HubRepository): string {
  return join(caches[kind], `${kind}s--${name.replaceAll("/", "--")}`);
}

/**
 * The files of a dataset, from the cache where it knows them.
 * Errors: PRL_HUB_UNKNOWN (no such dataset or revision), PRL_HUB_AUTH, PRL_HUB_OFFLINE (not in the cache), PRL_HUB_UNREACHABLE, PRL_HUB_ANSWER.
 */
export async function openSnapshot(
  settings: HubSettings,
  dataset: string,
  revision: string,
  signal?: AbortSignal,
): Promise<HubSnapshot> {
  const repository: HubRepository = { kind: "dataset", name: dataset };
  if (!isRepositoryName(dataset)) {
    throw new PrlError("PRL_HUB_UNKNOWN", `"${dataset}" is no name of a dataset; owner/name is one`);
  }
  const commit = COMMIT.test(revision) ? revision : await cachedCommit(settings, repository, revision, signal);
  const listed = join(repositoryRoot(settings, repository), "trees", `${commit}.json`);
  const known = await readJson(listed);
  if (known !== null) return { repository, commit, files: filesSchema.parse(known) };
  if (settings.offline) throw offline(repository, revision);
  const files = await listFiles(settings, repository, commit, signal);
  await mkdir(dirname(listed), { recursive: true });
  await atomicWriteFile(listed, JSON.stringify(files));
  return { repository, commit, files };
}

async function cachedCommit(
  settings: HubSettings,
  repository: HubRepository,
  revision: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const path = join(repositoryRoot(settings, repository), "refs", encodeURIComponent(revision));
  const [known, age] = await readFile(path, "utf8")
    .then(async (text) => [text.trim(), Date.now() - (await stat(path)).mtimeMs] as const)
    .catch(() => [null, Infinity] as const);
  if (known !== null && COMMIT.test(known) && (settings.offline || age < settings.refMs)) return known;
  if (settings.offline) throw offline(repository, revision);
  const commit = await commitOf(settings, repository, revision, signal);
  await mkdir(dirname(path), { recursive: true });
  await atomicWriteFile(path, commit);
  return commit;
}

/** Asks the hub for the commit of a branch, a tag or a commit. Errors: as `openSnapshot`. */
export async function commitOf(
  settings: HubSettings,
  repository: HubRepository,
  revision: string,
  signal: AbortSignal | undefined,
): Promise<string> {
  const what = repositoryText(repository);
  const { value } = await requestJson(settings, {
    url: `${settings.endpoint}/api/${repository.kind}s/${repository.name}/revision/${encodeURIComponent(revision)}`,
    what: `${what} at ${revision}`,
    signal,
  });
  const answer = z.object({ sha: z.string().regex(COMMIT) }).safeParse(value);
  if (!answer.success) throw new PrlError("PRL_HUB_ANSWER", `${what}: the hub names no commit`);
  return answer.data.sha;
}

const entrySchema = z.object({
  type: z.string(),
  path: z.string(),
  size: z.int().nonnegative().optional(),
  oid: z.string().optional(),
  lfs: z.object({ oid: z.string(), size: z.int().nonnegative() }).nullish(),
});

const filesSchema = z.array(
  z.object({
    path: z.string(),
    bytes: z.number(),
    digest: z.object({ kind: z.enum(["sha256", "git"]), hex: z.string() }),
  }),
);

const MOST_PAGES = 1000;

/** Asks the hub for the files of a commit. Errors: as `openSnapshot`. */
export async function listFiles(
  settings: HubSettings,
  repository: HubRepository,
  commit: string,
  signal: AbortSignal | undefined,
): Promise<HubFile[]> {
  const what = `the files of ${repositoryText(repository)}`;
  const files: HubFile[] = [];
  let url: string | null =
    `${settings.endpoint}/api/${repository.kind}s/${repository.name}/tree/${commit}?recursive=true`;
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
    url = nextPage(what, headers.get("link"), url);
  }
  return files;
}

/**
 * The hub names the next page in a Link header. One at another address is refused: the token is not sent there, and a list without it would lack
 * files.
 */
function nextPage(what: string, link: string | null, from: string): string | null {
  const next = /<([^>]+)>;\s*rel="next"/u.exec(link ?? "")?.[1];
  if (next === undefined) return null;
  const [url, { origin }] = [new URL(next, from), new URL(from)];
  if (url.origin === origin) return url.href;
  const advice = "HF_ENDPOINT names the hub: name that address, or a mirror that names itself in its Link headers";
  throw new PrlError("PRL_HUB_ANSWER", `${what}: ${origin} continues its list at ${url.origin}; ${advice}`);
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

function offline(repository: HubRepository, revision: string): PrlError {
  return new PrlError(
    "PRL_HUB_OFFLINE",
    `${repositoryText(repository)} at ${revision} is not in the cache and HF_HUB_OFFLINE forbids to fetch it: run once with the network, or name a local file`,
  );
}
