/**
 * A file of a dataset's repository on this disk: `blobs/<digest>`, with a link to it at its path below `snapshots/<commit>/`.
 *
 * A blob exists only when its digest has been checked. The part that has arrived is kept, and the next process continues from it.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, open, rename, rm, stat, symlink } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { exclusively } from "./cache-file.ts";
import { datasetRoot, type HubFile, type HubSnapshot } from "./repository.ts";
import { nextPiece, PassingFailure, request, withRetries } from "./request.ts";
import type { HubSettings } from "./settings.ts";

/**
 * Path of the file in the snapshot; it is downloaded unless it exists.
 * Errors: PRL_HUB_OFFLINE, PRL_HUB_DIGEST (twice other bytes than the hub's digest says), PRL_HUB_UNREACHABLE, PRL_HUB_UNKNOWN, PRL_HUB_AUTH.
 */
export async function download(
  settings: HubSettings,
  snapshot: HubSnapshot,
  file: HubFile,
  signal?: AbortSignal,
): Promise<string> {
  const root = datasetRoot(settings, snapshot.dataset);
  const blob = join(root, "blobs", file.digest.hex);
  const link = join(root, "snapshots", snapshot.commit, file.path);
  if (!(await isThere(blob, file.bytes))) {
    if (settings.offline) {
      throw new PrlError(
        "PRL_HUB_OFFLINE",
        `${file.path} of the dataset ${snapshot.dataset} is not in the cache and HF_HUB_OFFLINE forbids to fetch it`,
      );
    }
    await exclusively(join(root, "locks", file.digest.hex), signal, async () => {
      if (!(await isThere(blob, file.bytes))) await fetchBlob(settings, { snapshot, file, blob }, signal);
    });
  }
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

async function fetchBlob(
  settings: HubSettings,
  { snapshot, file, blob }: { snapshot: HubSnapshot; file: HubFile; blob: string },
  signal: AbortSignal | undefined,
): Promise<void> {
  await mkdir(dirname(blob), { recursive: true });
  const unfinished = `${blob}.incomplete`;
  const what = `${file.path} of the dataset ${snapshot.dataset}`;
  const path = file.path.split("/").map(encodeURIComponent).join("/");
  const url = `${settings.endpoint}/datasets/${snapshot.dataset}/resolve/${snapshot.commit}/${path}`;
  for (let again = false; ; again = true) {
    await withRetries(settings, what, signal, (progress) =>
      append(settings, { url, what, signal }, { path: unfinished, bytes: file.bytes }, progress),
    );
    if ((await digestOf(unfinished, file)) === file.digest.hex) break;
    await rm(unfinished, { force: true });
    if (again) {
      throw new PrlError("PRL_HUB_DIGEST", `${what}: twice other bytes came than its ${file.digest.kind} digest says`);
    }
  }
  await rename(unfinished, blob);
}

/** Continues the download from the existing bytes until all have arrived. */
async function append(
  settings: HubSettings,
  asked: { url: string; what: string; signal: AbortSignal | undefined },
  file: { path: string; bytes: number },
  progress: () => void,
): Promise<void> {
  let have = (await ifThere(stat(file.path), file.path))?.size ?? 0;
  if (have > file.bytes) {
    await rm(file.path);
    have = 0;
  }
  if (have === file.bytes && have > 0) return;
  const range = have === 0 ? {} : { headers: { range: `bytes=${have}-` } };
  const response = await request(settings, { ...asked, ...range, accept: [206, 416] });
  const reader = response.body?.getReader();
  // The hub did not continue there, so the download begins again.
  const starts = Number(/^bytes (\d+)-/u.exec(response.headers.get("content-range") ?? "")?.[1] ?? 0);
  if (response.status === 416 || (response.status === 206 && starts !== have)) {
    await reader?.cancel().catch(() => undefined);
    await rm(file.path, { force: true });
    throw new PassingFailure("the hub would not send the rest");
  }
  if (response.status === 200) have = 0;
  const out = await open(file.path, have === 0 ? "w" : "a");
  try {
    while (have <= file.bytes) {
      const piece = reader === undefined ? null : await nextPiece(reader, settings.stallMs);
      if (piece === null) break;
      asked.signal?.throwIfAborted();
      await out.write(piece);
      have += piece.length;
      progress();
    }
    await out.sync();
  } finally {
    await out.close();
    await reader?.cancel().catch(() => undefined);
  }
  if (have < file.bytes) throw new PassingFailure(`it ended after ${have} of ${file.bytes} bytes`);
}

/** SHA-256 of the bytes, or SHA-1 of git's header and the bytes. */
async function digestOf(path: string, { bytes, digest }: HubFile): Promise<string> {
  const hash = digest.kind === "sha256" ? createHash("sha256") : createHash("sha1").update(`blob ${bytes}\0`);
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}
