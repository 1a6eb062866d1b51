/**
 * Env workers on other machines, which the config names: each must let the orchestrator in and be what the run expects before the run begins.
 *
 * One that does not answer yet is asked again, with longer and longer pauses. A refusal is final: neither a token nor a certificate changes by itself.
 */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

import type { RemoteEnvWorkersBlock } from "../../config/index.ts";
import {
  IDENTITY_HEADER,
  identityDifference,
  identityDigest,
  type WorkerIdentity,
  workerToken,
} from "../../environments/records.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { Connections } from "../../inference-client/index.ts";
import type { EnvWorkerAddress } from "./env-worker-set.ts";

/** How long workers that are started together with the run may take. */
const PATIENCE_MS = 300_000;
const GREETING_DEADLINE_MS = 10_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
const MOST_ANSWER_BYTES = 1024 * 1024;
/** Codes of Node and OpenSSL for a certificate that is not trusted, and for a side that does not encrypt. */
const TLS_CODES = /CERT|SSL|TLS|EPROTO|UNABLE_TO|SELF_SIGNED/u;

export interface Greeting {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  /** Default: five minutes. */
  readonly patienceMs?: number;
}

/**
 * The workers of `connect`, all of which have answered. Errors: PRL_ENV_WORKER_AUTH, PRL_ENV_WORKER_TLS, PRL_ENV_WORKER_MISMATCH,
 * PRL_ENV_WORKER_UNREACHABLE; an abort rejects with its reason.
 */
export async function remoteEnvWorkers(
  { connect, sources, tls_ca: caPath }: Pick<RemoteEnvWorkersBlock, "connect" | "sources" | "tls_ca">,
  expected: WorkerIdentity,
  greeting: Greeting,
): Promise<EnvWorkerAddress[]> {
  const token = workerToken(greeting.env);
  const headers = {
    [IDENTITY_HEADER]: identityDigest(expected),
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
  };
  const ca = caPath === null || connect.length === 0 ? {} : { ca: await certificate(caPath) };
  const workers = connect.map((url, i) => {
    return { name: `remote-env-worker-${i}`, url: new URL(url).origin, remote: { sources, headers, ...ca } };
  });
  await Promise.all(workers.map((worker) => greet(worker, expected, greeting)));
  return workers;
}

async function greet(
  { url, remote }: EnvWorkerAddress,
  expected: WorkerIdentity,
  { signal, patienceMs = PATIENCE_MS }: Greeting,
): Promise<void> {
  const { authorization } = remote?.headers ?? {};
  // Without the header of the identity, so that a worker that is another one says what it is.
  const headers = authorization === undefined ? {} : { authorization };
  const connection = new Connections(url, {
    connections: 1,
    headers,
    ...(remote?.ca === undefined ? {} : { ca: remote.ca }),
  });
  const latest = performance.now() + patienceMs;
  try {
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const problem = await ask(connection, url, expected, signal);
      if (problem === null) return;
      if (performance.now() + pause > latest) {
        const seconds = patienceMs / 1000;
        const advice =
          "start it there with `prl env-server @` and the run's config, or take it out of orchestrator.remote_env_workers.connect";
        throw new PrlError(
          "PRL_ENV_WORKER_UNREACHABLE",
          `${url} did not answer for ${seconds} s (${problem}): ${advice}`,
        );
      }
      await sleep(pause, undefined, { signal });
    }
  } catch (error) {
    throw signal.aborted ? signal.reason : error;
  } finally {
    await connection.destroy();
  }
}

/** Null when the worker is the one expected; the problem when it may answer later. Rejects with a refusal. */
async function ask(
  connection: Connections,
  url: string,
  expected: WorkerIdentity,
  signal: AbortSignal,
): Promise<string | null> {
  let status: number;
  let text: string;
  try {
    const late = AbortSignal.any([signal, AbortSignal.timeout(GREETING_DEADLINE_MS)]);
    const response = await connection.request({ method: "GET", path: "/worker", signal: late });
    status = response.statusCode;
    text = await bounded(response.body);
  } catch (cause) {
    signal.throwIfAborted();
    if (cause instanceof PrlError) throw cause;
    if (!TLS_CODES.test(codeOf(cause))) return messageOf(cause);
    const advice = "set orchestrator.remote_env_workers.tls_ca to the authority of its certificate";
    throw new PrlError("PRL_ENV_WORKER_TLS", `${url} is not trusted (${messageOf(cause)}): ${advice}`, { cause });
  }
  if (status === 401) {
    throw new PrlError(
      "PRL_ENV_WORKER_AUTH",
      `${url} refuses the token: set the same PRL_ENV_WORKER_TOKEN here and there`,
    );
  }
  if (status >= 500) return `status ${status}`;
  const difference = status === 200 ? identityDifference(expected, parsed(text)) : `it answers with status ${status}`;
  if (difference === null) return null;
  throw new PrlError(
    "PRL_ENV_WORKER_MISMATCH",
    `${url} does not fit the run: ${difference}. Start it with the run's config`,
  );
}

async function bounded(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MOST_ANSWER_BYTES)
      throw new PrlError("PRL_ENV_WORKER_MISMATCH", "the answer is of no env worker: too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is compared like any other answer, and differs.
    return null;
  }
}

function codeOf(error: unknown): string {
  return typeof error === "object" && error !== null && "code" in error ? String(error.code) : "";
}

async function certificate(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_ENV_WORKER_TLS", `${path} cannot be read`, { cause });
  }
}
