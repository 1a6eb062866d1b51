/**
 * Checks user code by path: imports it, and checks that its export is what the config needs. This code runs where it is called; a run calls it
 * in a child, because importing runs the user's code.
 */
import {
  checkSettings,
  importUserModule,
  type KeyPath,
  placeOf,
  type Provenance,
  type SftConfig,
} from "../../config/index.ts";
import { type EnvironmentOrigin, locateEnvironment } from "../model/load-environment.ts";
import { PrlError } from "../../errors.ts";

export type EnvironmentBlock = NonNullable<SftConfig["data"]["env"]>;

/** User code that the config names, with its key. */
export type CodeCheck =
  | { readonly kind: "environment"; readonly at: KeyPath; readonly env: EnvironmentBlock }
  /** `shape`: what the function should be, for the message when it is something else. */
  | { readonly kind: "function"; readonly at: KeyPath; readonly path: string; readonly shape: string };

/** Facts about an environment that a run needs before it starts. */
export interface EnvironmentFacts {
  readonly name: string;
  readonly version: string;
  readonly demonstrates: boolean;
  /** How many agents take part in an episode. */
  readonly agents: number;
  readonly requires: { readonly sandbox?: true };
  readonly origin: EnvironmentOrigin;
}

/** The key that names the code. */
export function keyOf(check: CodeCheck): KeyPath {
  if (check.kind === "function") return check.at;
  return [...check.at, check.env.path === null ? "id" : "path"];
}

/**
 * The facts of an environment whose arguments fit it; null for a function.
 *
 * @throws PrlError `PRL_USER_MODULE`, `PRL_ENVIRONMENT_UNKNOWN`, `PRL_ENVIRONMENT_INVALID`, `PRL_CONFIG_INVALID`, naming the key
 */
export async function checkCode(
  check: CodeCheck,
  provenance: Provenance | undefined,
): Promise<EnvironmentFacts | null> {
  const key = keyOf(check);
  if (check.kind === "function") {
    const found = await placed(key, provenance, () => importUserModule(check.path));
    if (typeof found === "function") return null;
    throw new PrlError("PRL_USER_MODULE", `${placeOf(key, provenance)}: ${check.path}: ${check.shape}`);
  }
  const { at, env } = check;
  const { environment, origin } = await placed(key, provenance, () => locateEnvironment(env));
  const args = [...at, "args"];
  checkSettings(environment.config, env.args, args, provenance);
  const { agents } = await placed(args, provenance, async () => environment.configure(env.args));
  const { name, version, demonstrates } = environment;
  const requires = environment.requires.sandbox === undefined ? {} : { sandbox: true as const };
  return { name, version, demonstrates, agents: agents.length, requires, origin };
}

/** Runs `work`; its errors get the key that they are about. */
async function placed<T>(key: KeyPath, provenance: Provenance | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const place = placeOf(key, provenance);
    if (cause instanceof PrlError) throw new PrlError(cause.code, `${place}: ${cause.message}`, { cause: cause.cause });
    throw new PrlError("PRL_USER_MODULE", `${place}: the environment's own code threw`, { cause });
  }
}
