/** From what a config names to an environment: built-in ids, then modules by path. */
import { importUserModule, nearest } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { BUILTIN } from "./builtin/index.ts";
import { type Environment, isEnvironment } from "./environment.ts";

/** The id of a built-in environment, or the path of a module (`./my-env.ts`, `./my-env.ts#name`): one of the two. */
export interface EnvironmentReference {
  readonly id?: string | null | undefined;
  readonly path?: string | null | undefined;
}

/**
 * Loads an environment; `configure(args)` of it fills in its arguments. A string that looks like a path (it has a slash
 * or ends in a module's extension) is one, else it is an id.
 * Errors: PRL_ENVIRONMENT_UNKNOWN, PRL_USER_MODULE, PRL_ENVIRONMENT_INVALID.
 */
export async function loadEnvironment(reference: string | EnvironmentReference): Promise<Environment> {
  const { id = null, path = null } = typeof reference === "string" ? fromText(reference) : reference;
  if (id !== null && path === null) return loadBuiltin(id);
  if (path !== null && id === null) return loadPath(path);
  throw new PrlError("PRL_ENVIRONMENT_INVALID", "an environment is named by id or by path: give exactly one of them");
}

async function loadBuiltin(id: string): Promise<Environment> {
  const load = BUILTIN.get(id);
  if (load !== undefined) return (await load()).default;
  const near = nearest(id, BUILTIN.keys());
  const advice = near === null ? `built in: ${[...BUILTIN.keys()].join(", ")};` : `did you mean "${near}"?`;
  throw new PrlError(
    "PRL_ENVIRONMENT_UNKNOWN",
    `no environment has the id "${id}"; ${advice} (your own: path = "./my-env.ts")`,
  );
}

async function loadPath(path: string): Promise<Environment> {
  const value = await importUserModule(path);
  if (isEnvironment(value)) return value;
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${path} does not export an environment; export default defineEnvironment({...})`,
  );
}

function fromText(text: string): EnvironmentReference {
  return /[/\\]|\.[cm]?[jt]s(#|$)/u.test(text) ? { path: text } : { id: text };
}
