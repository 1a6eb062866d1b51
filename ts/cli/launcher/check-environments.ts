/**
 * Loads every environment that a config names and checks its arguments, before anything of a run exists.
 *
 * The processes of the run load them again; here a mistake is still a mistake in the config, told with its place.
 */
import { describeOrigin, type Provenance, type RlConfig, type SftConfig } from "../../config/index.ts";
import { loadEnvironment } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";

type EnvironmentBlock = SftConfig["data"]["env"];

/** @throws PrlError `PRL_ENVIRONMENT_UNKNOWN`, `PRL_USER_MODULE`, `PRL_ENVIRONMENT_INVALID`, `PRL_CONFIG_INVALID` naming the key */
export async function checkRlEnvironments(
  { orchestrator }: RlConfig,
  provenance: Provenance | undefined,
): Promise<void> {
  for (const [part, sources] of [
    ["train", orchestrator.train.source],
    ["eval", orchestrator.eval?.source ?? []],
  ] as const) {
    for (const [index, { env }] of sources.entries()) {
      await check(`orchestrator.${part}.source.${index}.env`, env, provenance);
    }
  }
}

/** The same, for an environment that has to give demonstrations. */
export async function checkSftEnvironment({ data }: SftConfig, provenance: Provenance | undefined): Promise<void> {
  const environment = await check("data.env", data.env, provenance);
  if (environment.demonstrates) return;
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `${place("data.env", provenance)}: the environment "${environment.name}" gives no demonstrations to learn from`,
  );
}

async function check(key: string, env: EnvironmentBlock, provenance: Provenance | undefined) {
  try {
    const environment = await loadEnvironment(env);
    environment.configure(env.args);
    return environment;
  } catch (cause) {
    if (!(cause instanceof PrlError)) throw cause;
    throw new PrlError(cause.code, `${place(key, provenance)}: ${cause.message}`, { cause: cause.cause });
  }
}

/** `rl.toml:12: orchestrator.train.source.0.env`, as far as it is known where the key was set. */
function place(key: string, provenance: Provenance | undefined): string {
  const set = [...(provenance ?? [])].filter(([, origin]) => origin.kind !== "default");
  const found =
    set.find(([path]) => path === `${key}.args` || path.startsWith(`${key}.args.`)) ??
    set.find(([path]) => path === key || path.startsWith(`${key}.`));
  return found === undefined ? key : `${describeOrigin(found[1])}: ${key}`;
}
