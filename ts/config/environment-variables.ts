/**
 * A list of all environment variables of prl that are not config keys.
 *
 * Config keys contain `__` (`PRL_MODEL__NAME` is `model.name`, `PRL__MAX_STEPS` the top-level `max_steps`; a part with small letters, as in
 * `..._ARGS__maxSteps`, is taken as it is written) and need no entry here.
 * Any other variable that begins with `PRL_` is reported as a mistake, because a mistyped variable would silently do nothing.
 */
import { PrlError } from "../errors.ts";
import { nearest } from "./keys/suggest.ts";

/** Name and meaning of each. */
export const ENVIRONMENT_VARIABLES: Readonly<Record<string, string>> = {
  PRL_BLESS: "1: tests that compare with stored output write it anew",
  PRL_CACHE_DIR: "folder of models, warm starts and datasets (default ~/.cache/prl)",
  PRL_DEBUG: "1: errors are printed with their stack",
  PRL_ISA: "instruction set of the engine instead of the best one: portable, avx2, avx512, avx512bf16 or amx",
  PRL_NATIVE_ADDON: "loader (index.js) of another build of the native addon; tests use it for theirs",
  PRL_LOG: "what the sandbox daemon logs to standard error: error, warn, info, debug",
  PRL_SANDBOXD: "the sandbox daemon's program instead of the one beside the native addon",
  PRL_SANDBOX_TOKEN: "bearer token of the sandbox daemon: what `prl sandbox serve` asks for and `run --address` sends",
  PRL_TEST_COMPILED: "1: the TypeScript tests run the compiled code in dist/, as `npm test` does",
  PRL_TEST_LONG: "1: tests take their long form",
  PRL_TEST_PYTHON: "interpreter that has safetensors and numpy, for the tests that compare with them (default python3)",
  PRL_TEST_SLOWNESS:
    "how many times slower than usual the machine is: the sandbox's tests give programs so much more time",
  PRL_TEST_UML:
    "the program `linux.uml` (Debian package user-mode-linux): tests boot machines with cgroup v2 in it; none: they are skipped",
  PRL_TEST_V2_CONTROLLERS: "controllers that cgroup v2 must have here; set in the machines that tests boot",
  PRL_TEST_VLLM: "the program `vllm`, for the tests that ask a live server; none: they are skipped",
  PRL_TETHER_FD: "descriptor that ties a part of a run over ssh to `prl host-part`, which sets it",
  PRL_ENV_WORKER_TOKEN:
    "key of env workers that listen on an address of orchestrator.remote_env_workers: a worker demands it, the orchestrator sends it",
  PRL_TRANSPORT_TOKEN:
    "key of a run on the network: of batches, weights and the control of inference servers; that of sampling follows from it. A process that listens demands it, and one that calls sends it",
  PRL_SKIP_NATIVE: "1: npm install does not build the native addon",
};

const ISAS = ["portable", "avx2", "avx512", "avx512bf16", "amx"];

export type Environment = Readonly<Record<string, string | undefined>>;

/** Sorted names of the set variables that are config keys, so that their order never depends on the shell, and elements of a list come one after the other. */
export function configVariables(env: Environment): string[] {
  return ours(env).filter((name) => name.slice("PRL_".length).includes("__") || name.startsWith("PRL__"));
}

/**
 * Checks that every `PRL_` variable without `__` is known.
 *
 * @throws PrlError PRL_CONFIG_ENVIRONMENT naming each unknown one and the nearest known one
 */
export function checkEnvironmentVariables(env: Environment): void {
  const known = Object.keys(ENVIRONMENT_VARIABLES);
  const config = new Set(configVariables(env));
  const unknown = ours(env).filter((name) => !config.has(name) && !known.includes(name));
  if (unknown.length === 0) return;
  const lines = unknown.map((name) => {
    const near = nearest(name, known);
    const advice =
      near === null ? `known ones: ${known.join(", ")}; config keys contain "__"` : `did you mean ${near}?`;
    return `environment variable ${name} is unknown: ${advice}`;
  });
  throw new PrlError("PRL_CONFIG_ENVIRONMENT", lines.join("\n"));
}

/**
 * Checks that `PRL_ISA`, when it is set, is a known instruction set.
 *
 * @throws PrlError PRL_CONFIG_ENVIRONMENT
 */
export function checkInstructionSet(env: Environment): void {
  const isa = env["PRL_ISA"] ?? "";
  if (isa === "" || ISAS.includes(isa)) return;
  const known = ISAS.join(", ");
  throw new PrlError("PRL_CONFIG_ENVIRONMENT", `environment variable PRL_ISA: expected one of ${known}, got "${isa}"`);
}

/**
 * `PRL_ORCHESTRATOR__BATCH_SIZE` → `["orchestrator", "batch_size"]`; `PRL__MAX_STEPS` → `["max_steps"]`. A part with a small letter is a key as it is
 * written, for arguments of environments such as `maxSteps`: `PRL_ENV__ARGS__maxSteps` → `["env", "args", "maxSteps"]`.
 */
export function variablePath(name: string): string[] {
  const rest = name.slice("PRL_".length);
  const parts = (rest.startsWith("_") ? rest.slice(1) : rest).split("__");
  return parts.map((part) => (/[a-z]/u.test(part) ? part : part.toLowerCase()));
}

function ours(env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith("PRL_") && env[name] !== undefined)
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}
