/** `[orchestrator.remote_env_workers]`: env workers on other machines, which the user starts with `prl env-server @`. */
import { z } from "zod";

import { filePath } from "../fields.ts";
import type { Problem } from "../problem.ts";

const LISTEN = /^([^\s/:@]+|\[[0-9a-fA-F:.]+\]):\d{1,5}$/;
const HERE = new Set(["localhost", "127.0.0.1", "[::1]", "::1"]);
/** Addresses to listen on that lead nowhere from another machine. */
const ANY = new Set(["0.0.0.0", "[::]", "::"]);

const pem = (what: string) => filePath(`File (PEM) with the ${what}; unset: none`).nullable().default(null);

const workerUrl = z
  .url({ protocol: /^https?$/, message: "must be an address as https://host:7443" })
  .refine((url) => url.startsWith("https:") || isHere(url), "must begin with https:// beyond this machine");

/** `http:` only where nothing leaves the machine: the token would travel in the clear. */
function isHere(url: string): boolean {
  return URL.canParse(url) && HERE.has(new URL(url).hostname);
}

export const remoteEnvWorkersBlock = z
  .strictObject({
    connect: z
      .array(workerUrl)
      .default([])
      .describe(
        "Addresses of env workers that run already and go on after the run, https://host:port. They get PRL_ENV_WORKER_TOKEN, and reach the inference servers by the addresses that the orchestrator has",
      ),
    sources: z
      .array(z.string().min(1))
      .nullable()
      .default(null)
      .describe(
        "Names of the sources whose rollouts run on these workers; the others run on the workers that the run starts; unset: all of them, and the run starts no worker",
      ),
    listen: z
      .string()
      .regex(LISTEN, "must be host:port")
      .nullable()
      .default(null)
      .describe(
        "host:port that `prl env-server @` listens on; beyond loopback it needs tls_cert, tls_key and PRL_ENV_WORKER_TOKEN; unset: a free port of 127.0.0.1, without a token. Give it to the worker alone: the config of a run refuses it",
      ),
    tls_cert: pem("certificate of the worker that listens"),
    tls_key: pem("key of tls_cert"),
    tls_ca: pem(
      "certificate of the authority that the workers of connect must have, or of the one worker itself; without it the machine's authorities count",
    ),
  })
  .superRefine(({ tls_cert: cert, tls_key: key }, context) => {
    if ((cert === null) === (key === null)) return;
    context.addIssue({
      code: "custom",
      path: [cert === null ? "tls_key" : "tls_cert"],
      message: `needs ${cert === null ? "tls_cert" : "tls_key"}`,
    });
  })
  .prefault({})
  .describe("Env workers on other machines");

export type RemoteEnvWorkersBlock = z.output<typeof remoteEnvWorkersBlock>;

/** Engines that workers on other machines cannot reach. `path`: the key with the address. */
export function* engineProblems(
  { connect }: RemoteEnvWorkersBlock,
  engines: readonly { path: string[]; host: string }[],
): Generator<Problem> {
  const far = connect.find((url) => !isHere(url));
  if (far === undefined) return;
  for (const { path, host } of engines) {
    if (!HERE.has(host) && !ANY.has(host)) continue;
    yield {
      path,
      message: `is ${host}, where the env worker ${far} finds no inference server: give an address that it reaches`,
    };
  }
}

/** Placements that no worker could have. */
export function* placementProblems(
  { connect, sources }: RemoteEnvWorkersBlock,
  known: readonly string[],
): Generator<Problem> {
  if (sources === null) return;
  const path = ["orchestrator", "remote_env_workers", "sources"];
  if (connect.length === 0) yield { path, message: "needs connect, the workers that these sources run on" };
  for (const source of sources) {
    if (!known.includes(source)) yield { path, message: `there is no source "${source}"` };
  }
}

/** Least number of env workers that the run starts itself. */
export function ownEnvWorkers(orchestrator: {
  env_workers: number;
  remote_env_workers: RemoteEnvWorkersBlock;
}): number {
  return allRolloutsElsewhere(orchestrator.remote_env_workers) ? 0 : orchestrator.env_workers;
}

/** Whether every rollout of the run is on a worker of `connect`. */
export function allRolloutsElsewhere({ connect, sources }: RemoteEnvWorkersBlock): boolean {
  return connect.length > 0 && sources === null;
}
