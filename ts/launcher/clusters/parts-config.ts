/** Refuses keys that a run cannot have when its parts start on several machines with no launcher beside them: the same for Slurm and ssh. */
import { type KeyPath, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";

export interface PartsRefusal {
  readonly key: KeyPath;
  readonly text: string;
}

export const LOOPBACK = "127.0.0.1";
/** The reason against `orchestrator.remote_env_workers.listen` in the config of a whole run. */
export const LISTEN_MISPLACED =
  "is where a single `prl env-server @` listens, and this config is for all parts of a run: leave it out, and give it to the worker on its machine (--orchestrator.remote-env-workers.listen)";

/**
 * `where` names the machines (`a job on 2 nodes`), `instead` says how the run may have what is refused.
 */
export function* partsProblems(
  { inference, orchestrator, deployment }: RlConfig,
  { where, instead, cores }: { where: string; instead: string; cores: string },
): Generator<PartsRefusal> {
  if (orchestrator.client.base_url.length > 0) {
    const text = `names servers that run already, and ${where} starts its own: ${instead}, or leave it out`;
    yield { key: ["orchestrator", "client", "base_url"], text };
  }
  if (deployment.type === "colocated") {
    const text = `"colocated" is of one machine, whose launcher gives the turns, and ${where} has none: ${instead}, or set "single_node"`;
    yield { key: ["deployment", "type"], text };
  }
  if (inference.backend === "vllm") {
    const text = `the control routes of vLLM ask for no key, so that it listens on ${LOOPBACK} only and cannot serve ${where}: ${instead}, or name servers that run already (orchestrator.client)`;
    yield { key: ["inference", "backend"], text };
  }
  if (orchestrator.remote_env_workers.listen !== null) {
    yield { key: ["orchestrator", "remote_env_workers", "listen"], text: LISTEN_MISPLACED };
  }
  if (deployment.num_cores !== null) {
    const text = `is the launcher's, which ${where} does not have: ${cores}`;
    yield { key: ["deployment", "num_cores"], text };
  }
}

/** @throws PrlError `PRL_CONFIG_INVALID` with the place of the first refused key */
export function refuseFirst(problems: Iterable<PartsRefusal>, provenance: Provenance | undefined): void {
  for (const { key, text } of problems) {
    throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${text}`);
  }
}
