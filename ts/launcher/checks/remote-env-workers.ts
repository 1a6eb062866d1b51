/** Checks, before a run has a directory, that the env workers on other machines let it in and are what its config expects. */
import { allSources, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { workerIdentity } from "../../environments/records.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { locateModel } from "../../models/index.ts";
import { LISTEN_MISPLACED } from "../clusters/parts-config.ts";

/** How long workers that are started at the same time may take. */
const PATIENCE_MS = 60_000;
const BLOCK = ["orchestrator", "remote_env_workers"] as const;

export interface RemoteWorkersCheck {
  readonly provenance: Provenance | undefined;
  readonly signal: AbortSignal | undefined;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Default: a minute. */
  readonly patienceMs?: number;
}

/**
 * Asks all workers of `connect` at the same time. The model has to be on this disk.
 *
 * @throws PrlError `PRL_ENV_WORKER_AUTH`, `PRL_ENV_WORKER_TLS`, `PRL_ENV_WORKER_MISMATCH`, `PRL_ENV_WORKER_UNREACHABLE`, with every worker that cannot
 * take part
 */
export async function checkRemoteEnvWorkers(config: RlConfig, check: RemoteWorkersCheck): Promise<void> {
  const { provenance, signal = new AbortController().signal, env = process.env, patienceMs = PATIENCE_MS } = check;
  const { remote_env_workers: remote } = config.orchestrator;
  if (remote.connect.length === 0) return;
  const { dir } = await locateModel(config.model.name);
  if (dir === null) return;
  // Most runs have no such workers, and their launcher needs nothing of the orchestrator.
  const { remoteEnvWorkers } = await import("../../orchestrator/index.ts");
  const sources = allSources(config.orchestrator);
  const expected = await workerIdentity({ seed: config.seed, model_dir: dir, sources });
  const asked = remote.connect.map((url) =>
    remoteEnvWorkers({ ...remote, connect: [url] }, expected, { env, signal, patienceMs }),
  );
  const refused = (await Promise.allSettled(asked)).filter((answer) => answer.status === "rejected");
  signal.throwIfAborted();
  const errors = refused.map(({ reason }): unknown => reason);
  const [first] = errors;
  if (first === undefined) return;
  const known = errors.filter((error) => error instanceof PrlError);
  if (known.length < errors.length) throw first;
  const place = placeOf([...BLOCK, "connect"], provenance);
  const texts = known.map(messageOf);
  const text = texts.length === 1 ? ` ${texts[0]}` : ["", ...texts].join("\n  ");
  throw new PrlError(known[0]?.code ?? "PRL_ENV_WORKER_UNREACHABLE", `${place}:${text}`, { cause: first });
}

/**
 * Refuses `listen` in the config of a run: no process of the run would use it.
 *
 * @throws PrlError `PRL_CONFIG_INVALID`
 */
export function refuseListen(config: RlConfig, provenance: Provenance | undefined): void {
  if (config.orchestrator.remote_env_workers.listen === null) return;
  throw new PrlError("PRL_CONFIG_INVALID", `${placeOf([...BLOCK, "listen"], provenance)}: ${LISTEN_MISPLACED}`);
}
