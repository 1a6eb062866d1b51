/**
 * Separate cores for a run (`deployment.num_cores`): the launcher takes this many cores that no other run on the machine has taken, and
 * keeps itself and all its child processes on them.
 *
 * Claims are files in a folder of this user, one per launcher, under the rule of `run-lock.ts`: a launcher writes its claim, then reads the
 * others, and withdraws when one overlaps. A claim whose process is gone does not count. Runs that ask for no cores claim none, and use any.
 */
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { processStart } from "../../files/run-lock.ts";

export interface CoreClaim {
  /** Numbers of the cores; null: the config asks for none. */
  readonly cores: readonly number[] | null;
  release(): Promise<void>;
}

const claimSchema = z.object({ pid: z.int().positive(), started: z.string(), cores: z.array(z.int().nonnegative()) });
type Claim = z.output<typeof claimSchema>;

const TRIES = 50;
const LONGEST_PAUSE_MS = 100;
const run = promisify(execFile);

/**
 * Claims `count` of the cores that this process may use, and keeps it on them until the claim is released; null claims nothing.
 *
 * @throws PrlError `PRL_CORES_TAKEN` naming the processes that hold the others
 */
export async function claimCores(count: number | null, dir: string = claimsDir()): Promise<CoreClaim> {
  if (count === null) return { cores: null, release: async () => {} };
  const allowed = await allowedCores();
  const path = join(dir, `${process.pid}.json`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const cores = await contend(count, allowed, dir, path);
  try {
    await stayOn(cores);
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
  return {
    cores,
    async release() {
      await stayOn(allowed);
      await rm(path, { force: true });
    },
  };
}

async function contend(count: number, allowed: readonly number[], dir: string, path: string): Promise<number[]> {
  const own = { pid: process.pid, started: (await processStart(process.pid)) ?? "" };
  for (let tried = 0; tried < TRIES; tried++) {
    const before = await otherClaims(dir);
    const taken = new Set(before.flatMap((claim) => claim.cores));
    const cores = allowed.filter((core) => !taken.has(core)).slice(0, count);
    if (cores.length < count) throw tooFew(count, allowed, before);
    await atomicWriteJson(path, { ...own, cores });
    const overlaps = (await otherClaims(dir)).some((claim) => claim.cores.some((core) => cores.includes(core)));
    if (!overlaps) return cores;
    await rm(path, { force: true });
    await sleep(Math.random() * LONGEST_PAUSE_MS);
  }
  throw tooFew(count, allowed, await otherClaims(dir));
}

function tooFew(count: number, allowed: readonly number[], others: readonly Claim[]): PrlError {
  const holders = others.map(({ pid, cores }) => `process ${pid} has ${listOf(cores)}`);
  const why = holders.length === 0 ? "" : `; ${holders.join(", ")}`;
  return new PrlError(
    "PRL_CORES_TAKEN",
    `deployment.num_cores = ${count}: this process may use ${allowed.length} (${listOf(allowed)})${why}. Ask for fewer, or wait for the other runs`,
  );
}

/** Claims of live processes, without this one. */
async function otherClaims(dir: string): Promise<Claim[]> {
  const names = (await readdir(dir)).filter((name) => /^\d+\.json$/.test(name) && name !== `${process.pid}.json`);
  const claims = await Promise.all(
    names.map(async (name): Promise<Claim[]> => {
      const text = await ifThere(readFile(join(dir, name), "utf8"), join(dir, name));
      const claim = text === null ? null : claimSchema.parse(JSON.parse(text));
      if (claim === null) return [];
      if ((await processStart(claim.pid)) === claim.started) return [claim];
      await rm(join(dir, name), { force: true });
      return [];
    }),
  );
  return claims.flat();
}

function claimsDir(): string {
  return join(tmpdir(), `prl-cores-${userInfo().uid}`);
}

/** Cores that `taskset` and container limits allow. */
async function allowedCores(): Promise<number[]> {
  const status = await readFile("/proc/self/status", "utf8");
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "";
  return parseCores(list);
}

/** `0-2,5` */
export function parseCores(list: string): number[] {
  return list.split(",").flatMap((part) => {
    const [first = NaN, last = first] = part.split("-").map(Number);
    return part !== "" && Number.isInteger(first) ? Array.from({ length: last - first + 1 }, (_, i) => first + i) : [];
  });
}

function listOf(cores: readonly number[]): string {
  return cores.length === 0 ? "none" : cores.join(",");
}

/** Moves every thread of this process to the cores, and so every child that it starts from now on. */
async function stayOn(cores: readonly number[]): Promise<void> {
  try {
    await run("taskset", ["-a", "-p", "-c", listOf(cores), String(process.pid)]);
  } catch (cause) {
    throw new PrlError(
      "PRL_CORES_UNSUPPORTED",
      `deployment.num_cores: this process cannot be kept on cores ${listOf(cores)}: is taskset (util-linux) installed?`,
      { cause },
    );
  }
}
