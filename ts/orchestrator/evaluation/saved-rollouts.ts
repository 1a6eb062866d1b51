/**
 * The rollouts of one source's evaluation on disk, each written when it ends, so that another process of the run goes on with the evaluation in place of repeating it.
 *
 * They are used again only for the same evaluation: the same version of the same weights, the same source with its sampling and numbers, and the same seed. Within an
 * attempt a version has one set of weights. Another attempt may have made other ones, so there the digests have to be equal, and nothing that a later
 * version has sampled is used. Failed rollouts run again. This file knows no tasks and no workers.
 */
import { readFile, rename, rm } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";

import { type Episode, keepScored, TracesFile } from "../../environments/records.ts";
import { atomicWriteFile, atomicWriteJson } from "../../files/atomic-write.ts";
import { ifThere, isThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { type EvaluationFiles, evaluationFiles } from "../../transports/index.ts";
import { jsonLines } from "../metrics/trace-lines.ts";

const keySchema = z.strictObject({
  attempt: z.int(),
  /** Digest of the version's weights; null: not known. */
  digest: z.string().nullable(),
  seed: z.int(),
  /** The source's block of the config. */
  source: z.record(z.string(), z.unknown()),
});
/** The evaluation that rollouts belong to, besides the version. */
export type EvaluationKey = z.output<typeof keySchema>;

export class SavedRollouts {
  /** Rollouts of an earlier process, by the id that was asked for; none has an error. */
  readonly kept: ReadonlyMap<string, Episode>;
  readonly #files: EvaluationFiles;
  readonly #part: TracesFile;
  #isOpen = true;

  private constructor(files: EvaluationFiles, kept: ReadonlyMap<string, Episode>) {
    this.#files = files;
    this.kept = kept;
    this.#part = new TracesFile(files.part);
  }

  /** Opens the rollouts of an evaluation; those of another one are removed. Errors: PRL_IO. */
  static async open(runDir: string, version: number, key: EvaluationKey): Promise<SavedRollouts> {
    const files = evaluationFiles(runDir, version, key.source["name"] as string);
    makeFolder(files.folder, runDir);
    const before = await readKey(files.key);
    const isSame = before !== null && isOfSameEvaluation(before, key);
    for (const ended of [files.ended, files.earlier]) {
      // The part has the rollouts as they were before rewards compared them.
      if (isSame && !(await isThere(files.part))) await ifThere(rename(ended, files.part), ended);
      else await rm(ended, { force: true });
    }
    if (!isSame) await rm(files.part, { force: true });
    const isKept = before?.attempt === key.attempt ? () => true : isSampledBy(version);
    const episodes = await keepScored(files.part, isKept);
    await atomicWriteJson(files.key, { ...key, digest: key.digest ?? (isSame ? before.digest : null) });
    return new SavedRollouts(files, new Map([...episodes.values()].map((episode) => [askedId(episode), episode])));
  }

  /** Saves a rollout that has ended, unless the evaluation was given up. Errors, also of earlier ones: PRL_IO. */
  add(episode: Episode): void {
    if (episode.ok && this.#isOpen) this.#part.add(episode);
  }

  /**
   * Writes all episodes of the evaluation in their order. `isCompared`: rewards that compare rollouts were added to them, so that the rollouts without these stay, too.
   * Errors: PRL_IO.
   */
  async finish(episodes: readonly Episode[], isCompared: boolean): Promise<void> {
    await atomicWriteFile(this.#files.ended, jsonLines(episodes));
    if (!isCompared) await rm(this.#files.part, { force: true });
  }

  close(): void {
    this.#isOpen = false;
    this.#part.close();
  }
}

async function readKey(path: string): Promise<EvaluationKey | null> {
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return keySchema.parse(JSON.parse(text));
  } catch {
    // A key that cannot be read is none: nothing is used again.
    return null;
  }
}

function isOfSameEvaluation(before: EvaluationKey, now: EvaluationKey): boolean {
  const isSameVersion = before.attempt === now.attempt || (before.digest !== null && before.digest === now.digest);
  const [{ seed, source }, written] = [before, JSON.parse(JSON.stringify(now)) as EvaluationKey];
  return isSameVersion && isDeepStrictEqual({ seed, source }, { seed: written.seed, source: written.source });
}

/** Whether no other version of the policy has sampled any of an episode. */
function isSampledBy(version: number): (episode: Episode) => boolean {
  return ({ traces }) =>
    traces.every(({ policy }) => policy === null || (policy.start === version && policy.end === version));
}

/** The id of the request; that of an episode has the number of the try behind it. */
function askedId({ id }: Episode): string {
  return id.slice(0, id.lastIndexOf("-"));
}
