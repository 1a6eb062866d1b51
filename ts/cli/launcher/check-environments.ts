/**
 * Loads every environment that a config names and checks its arguments, before anything of a run exists; says which they are.
 *
 * The processes of the run load them again; here a mistake is still a mistake in the config, told with its place.
 */
import {
  checkSettings,
  demonstrators,
  type KeyPath,
  placeOf,
  type Provenance,
  type RlConfig,
  type SftConfig,
} from "../../config/index.ts";
import {
  checkSandboxes,
  type Environment,
  type EnvironmentOrigin,
  type LocatedEnvironment,
  locateEnvironment,
  sandboxSource,
} from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";

type EnvironmentBlock = NonNullable<SftConfig["data"]["env"]>;

/** One line of a run's `configs/environments.json`: what a source of tasks really was. */
export interface EnvironmentRecord {
  readonly source: string;
  readonly name: string;
  readonly version: string;
  readonly origin: EnvironmentOrigin;
  /** Whether it needs sandboxes. */
  readonly sandbox: boolean;
}

export function environmentRecord(
  source: string,
  { name, version, requires }: Pick<Environment, "name" | "version" | "requires">,
  origin: EnvironmentOrigin,
): EnvironmentRecord {
  return { source, name, version, origin, sandbox: requires.sandbox !== undefined };
}

/** @throws PrlError those of `checkSandboxes`, `PRL_ENVIRONMENT_UNKNOWN`, `PRL_USER_MODULE`, `PRL_ENVIRONMENT_INVALID`, `PRL_CONFIG_INVALID` naming the key */
export async function checkRlEnvironments(
  { orchestrator, sandbox }: RlConfig,
  provenance: Provenance | undefined,
): Promise<EnvironmentRecord[]> {
  const parts = [
    { part: "train", at: ["orchestrator", "train"], sources: orchestrator.train.source },
    { part: "eval", at: ["orchestrator", "eval"], sources: orchestrator.eval?.source ?? [] },
  ];
  return checkSources(parts, sandbox, provenance);
}

/** Those that a policy is evaluated on, whose block is at `at`. Errors: as `checkRlEnvironments`. */
export async function checkEvaluations(
  at: KeyPath,
  { orchestrator, sandbox }: RlConfig,
  provenance: Provenance | undefined,
): Promise<EnvironmentRecord[]> {
  return checkSources([{ part: "eval", at, sources: orchestrator.eval?.source ?? [] }], sandbox, provenance);
}

interface SourcesPart {
  part: string;
  at: KeyPath;
  sources: readonly { name: string; env: EnvironmentBlock }[];
}

async function checkSources(
  parts: readonly SourcesPart[],
  sandbox: RlConfig["sandbox"],
  provenance: Provenance | undefined,
): Promise<EnvironmentRecord[]> {
  const records: EnvironmentRecord[] = [];
  const environments: Environment[] = [];
  for (const { part, at, sources } of parts) {
    for (const [index, { name, env }] of sources.entries()) {
      const { environment, origin } = await check([...at, "source", index, "env"], env, provenance);
      records.push(environmentRecord(`${part}/${name}`, environment, origin));
      environments.push(environment);
    }
  }
  const sandboxes = sandboxSource(sandbox);
  try {
    await checkSandboxes(sandboxes, environments);
  } finally {
    await sandboxes.close();
  }
  return records;
}

/** The same, for environments that have to give demonstrations; none where data do. */
export async function checkSftEnvironments(
  { data }: SftConfig,
  provenance: Provenance | undefined,
): Promise<EnvironmentRecord[]> {
  const records: EnvironmentRecord[] = [];
  for (const { key, env } of demonstrators(data)) {
    const { environment, origin } = await check(key, env, provenance);
    if (!environment.demonstrates) {
      const problem = `the environment "${environment.name}" gives no demonstrations to learn from`;
      throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${problem}`);
    }
    records.push(environmentRecord("demonstrations", environment, origin));
  }
  return records;
}

async function check(
  at: KeyPath,
  env: EnvironmentBlock,
  provenance: Provenance | undefined,
): Promise<LocatedEnvironment> {
  const key = [...at, env.path === null ? "id" : "path"];
  const located = await placed(key, provenance, () => locateEnvironment(env));
  const { environment } = located;
  const args = [...at, "args"];
  checkSettings(environment.config, env.args, args, provenance);
  await placed(args, provenance, async () => environment.configure(env.args));
  return located;
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
