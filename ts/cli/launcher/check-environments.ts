/**
 * Loads every environment that a config names and checks its arguments, before anything of a run exists.
 *
 * The processes of the run load them again; here a mistake is still a mistake in the config, told with its place.
 */
import {
  checkSettings,
  type KeyPath,
  placeOf,
  type Provenance,
  type RlConfig,
  type SftConfig,
} from "../../config/index.ts";
import { type Environment, loadEnvironment } from "../../environments/index.ts";
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
      await check(["orchestrator", part, "source", index, "env"], env, provenance);
    }
  }
}

/** The same, for an environment that has to give demonstrations. */
export async function checkSftEnvironment({ data }: SftConfig, provenance: Provenance | undefined): Promise<void> {
  const environment = await check(["data", "env"], data.env, provenance);
  if (environment.demonstrates) return;
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `${placeOf(["data", "env"], provenance)}: the environment "${environment.name}" gives no demonstrations to learn from`,
  );
}

async function check(at: KeyPath, env: EnvironmentBlock, provenance: Provenance | undefined): Promise<Environment> {
  const environment = await placed([...at, env.path === null ? "id" : "path"], provenance, () => loadEnvironment(env));
  const args = [...at, "args"];
  checkSettings(environment.config, env.args, args, provenance);
  await placed(args, provenance, async () => environment.configure(env.args));
  return environment;
}

/** `work`, its errors told with the key that they are about. */
async function placed<T>(key: KeyPath, provenance: Provenance | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof PrlError)) throw cause;
    throw new PrlError(cause.code, `${placeOf(key, provenance)}: ${cause.message}`, { cause: cause.cause });
  }
}
