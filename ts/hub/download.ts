/**
 * A file of a repository on this disk: `blobs/<digest>`, with a link to it at its path below `snapshots/<commit>/`.
 *
 * A blob exists only when its digest has been checked. The part that has arrived is kept, and the next process continues from it.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

import { PrlError } from "../errors.ts";
import { moveFile } from "../files/atomic-write.ts";
import { ifThere } from "../files/file-presence.ts";
import { exclusively } from "./cache-file.ts";
import { type HubFile, type HubSnapshot, repositoryRoot, repositoryText } from "./repository.ts";
import { nextPiece, PassingFailure, request, withRetries } from "./request.ts";
import type { HubSettings } from "./settings.ts";

export interface DownloadOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called with the bytes of the file that are on this disk; they become fewer when wrong ones are thrown away. */
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** Address of a file of a snapshot. */
export function fileUrl({ endpoint }: HubSettings, { repository, commit }: HubSnapshot, path: string): string {
  const folder = repository.kind === "model" ? "" : `${repository.kind}s/`;
  return `${endpoint}/${folder}${repository.name}/resolve/${commit}/${path.split("/").map(encodeURIComponent).join("/")}`;
}

/** Where the blob of a file lies once it is whole. */
export function blobPath(settings: HubSettings, { repository }: HubSnapshot, { digest }: HubFile): string {
  return join(repositoryRoot(settings, repository), "blobs", digest.hex);
}

/** The part of a blob that has arrived. `<digest>.incomplete` would be that of Hugging Face's own programs, which do not know our locks. */
export function unfinishedPath(blob: string): string {
  return `${blob}.prl.incomplete`;
}

/**
 * Path of the file in the snapshot; it is downloaded unless it exists.
 * Errors: PRL_HUB_OFFLINE, PRL_HUB_DIGEST (twice other bytes than the hub's digest says), PRL_HUB_SIZE, PRL_HUB_DISK, PRL_HUB_UNREACHABLE,
 * PRL_HUB_UNKNOWN, PRL_HUB_AUTH.
 */
export async function download(
  settings: HubSettings,
  snapshot: HubSnapshot,
  file: HubFile,
  { signal, onBytes = () => undefined }: DownloadOptions = {},
): Promise<string> {
  const root = repositoryRoot(settings, snapshot.repository);
  const blob = blobPath(settings, snapshot, file);
  const link = join(root, "snapshots", snapshot.commit, file.path);
  if (!(await isThere(blob, file.bytes))) {
    if (settings.offline) {
      throw new PrlError(
        "PRL_HUB_OFFLINE",
        `${file.path} of ${repositoryText(snapshot.repository)} is not in the cache and HF_HUB_OFFLINE forbids to fetch it`,
      );
    }
    await exclusively(join(root, "locks", file.digest.hex), signal, async () => {
      if (!(await isThere(blob, file.bytes))) await fetchBlob(settings, { snapshot, file, blob }, { signal, onBytes });
    });
  }
  onBytes(file.bytes);
  await mkdir(dirname(link), { recursive: true });
  await symlink(relative(dirname(link), blob), link).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  return link;
}

async function isThere(blob: string, bytes: number): Promise<boolean> {
  const found = await ifThere(stat(blob), blob);
  return found?.size === bytes;
}

interface Fetched {
  readonly url: string;
  readonly what: string;
  readonly bytes: number;
  /** File that the bytes are added to. */
  readonly path: string;
}

type Watched = { readonly signal: AbortSignal | undefined; readonly onBytes: (bytes: number) => void };

async function fetchBlob(
  settings: HubSettings,
  { snapshot, file, blob }: { snapshot: HubSnapshot; file: HubFile; blob: string },
  watched: Watched,
): Promise<void> {
  await mkdir(dirname(blob), { recursive: true });
  const what = `${file.path} of ${repositoryText(snapshot.repository)}`;
  const url = fileUrl(settings, snapshot, file.path);
  const fetched: Fetched = { url, what, bytes: file.bytes, path: unfinishedPath(blob) };
  for (let again = false; ; again = true) {
    let furthest = 0;
    await withRetries(settings, what, watched.signal, (progress) =>
      append(settings, fetched, watched, (have) => {
        // A hub that begins again each time and stops early must not be asked for ever.
        if (have > furthest) progress();
        furthest = Math.max(furthest, have);
      }),
    );
    if ((await digestOf(fetched.path, file)) === file.digest.hex) break;
    await rm(fetched.path, { force: true });
    watched.onBytes(0);
    if (again) {
      throw new PrlError("PRL_HUB_DIGEST", `${what}: twice other bytes came than its ${file.digest.kind} digest says`);
    }
  }
  await moveFile(fetched.path, blob);
}

/** Continues the download from the existing bytes until all have arrived. */
async function append(
  settings: HubSettings,
  fetched: Fetched,
  { signal, onBytes }: Watched,
  arrived: (have: number) => void,
): Promise<void> {
  const { url, what, bytes, path } = fetched;
  let have = (await ifThere(stat(path), path))?.size ?? 0;
  if (have > bytes) {
    await rm(path);
    have = 0;
  }
  onBytes(have);
  if (have === bytes && have > 0) return;
  // Compressed bytes could be neither counted nor continued.
  const headers = { "accept-encoding": "identity", ...(have === 0 ? {} : { range: `bytes=${have}-` }) };
  const response = await request(settings, { url, what, signal, headers, accept: [206, 416] });
  const reader = response.body?.getReader();
  try {
    const isContinued = await continues(response, fetched, have);
    if (!isContinued) have = 0;
    const out = await open(path, isContinued ? "a" : "w");
    try {
      for (;;) {
        const piece = reader === undefined ? null : await nextPiece(reader, settings.stallMs);
        if (piece === null) break;
        signal?.throwIfAborted();
        if (have + piece.length > bytes) throw wrongSize(what, bytes, "more came");
        await writeAll(out, piece, what);
        have += piece.length;
        onBytes(have);
        arrived(have);
      }
      await out.sync();
    } finally {
      await out.close();
    }
  } finally {
    await reader?.cancel().catch(() => undefined);
  }
  if (have < bytes) throw new PassingFailure(`it ended after ${have} of ${bytes} bytes`);
}

/** Whether the answer continues from byte `have`; false: it begins at the beginning. */
async function continues(response: Response, { what, bytes, path }: Fetched, have: number): Promise<boolean> {
  const { headers, status } = response;
  const [, from, total] = /^bytes (\d+)-\d*\/(\d+|\*)/u.exec(headers.get("content-range") ?? "") ?? [];
  // The hub did not continue there, so the download begins again.
  if (status === 416 || (status === 206 && Number(from ?? 0) !== have)) {
    await rm(path, { force: true });
    throw new PassingFailure("the hub would not send the rest");
  }
  const isPlain = status === 200 && headers.get("content-encoding") === null;
  const said = status === 206 && total !== "*" ? total : isPlain ? headers.get("content-length") : null;
  if (said !== null && said !== undefined && Number(said) !== bytes)
    throw wrongSize(what, bytes, `the file has ${said}`);
  return status === 206;
}

function wrongSize(what: string, bytes: number, truth: string): PrlError {
  const advice = "the hub, or a proxy before it, does not send the file that it lists";
  return new PrlError("PRL_HUB_SIZE", `${what}: the hub lists it with ${bytes} bytes, but ${truth}: ${advice}`);
}

async function writeAll(out: FileHandle, piece: Uint8Array, what: string): Promise<void> {
  try {
    for (let at = 0; at < piece.length;) at += (await out.write(piece, at)).bytesWritten;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code !== "ENOSPC" && code !== "EDQUOT") throw cause;
    const advice = "make room and start again: what has come is kept";
    throw new PrlError("PRL_HUB_DISK", `${what}: the disk is full (${code}); ${advice}`, { cause });
  }
}

/** Whether a local file has the bytes that the hub lists: those of a download may have been changed on the disk since. */
export async function isWhole(path: string, file: HubFile): Promise<boolean> {
  return (await digestOf(path, file)) === file.digest.hex;
}

/** SHA-256 of the bytes, or SHA-1 of git's header and the bytes. */
async function digestOf(path: string, { bytes, digest }: HubFile): Promise<string> {
  const hash = digest.kind === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}
