/**
 * Checks every environment and every custom function that a config names, before anything of a run exists, and returns a record of the
 * environments.
 *
 * The processes of the run load them again; here a mistake is still reported as a mistake in the config, with its place.
 */
import {
  demonstrators,
  type KeyPath,
  needsGroups,
  originIn,
  placeOf,
  type RlConfig,
  type SftConfig,
} from "../../config/index.ts";
import {
  checkSandboxes,
  type CodeCheck,
  type EnvironmentBlock,
  type EnvironmentFacts,
  type EnvironmentOrigin,
  sandboxSource,
} from "../../environments/run-start.ts";
import type { Environment } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import { checkUserCode, type UserCodeOptions } from "./user-code.ts";

/** One line of a run's `configs/environments.json`: the environment behind a source of tasks. */
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

const LOSS = "a loss is a function (inputs, args) => ({ loss, gradLogprobs, metrics })";
const FILTER = "a filter is a function (trace, columns) => 'keep' or a reason";
const ADVANTAGES = "advantages are a function (group) => Float32Array[]";

/** @throws PrlError those of `checkSandboxes` and `checkUserCode` */
export async function checkRlEnvironments(config: RlConfig, options: UserCodeOptions): Promise<EnvironmentRecord[]> {
  const { orchestrator, sandbox } = config;
  const sources = [
    ...sourcesOf("train", ["orchestrator", "train"], orchestrator.train.source),
    ...sourcesOf("eval", ["orchestrator", "eval"], orchestrator.eval?.source ?? []),
  ];
  const facts = await checkSources(sources, functionsOf(config), sandbox, options);
  checkGroups(config, facts, options);
  return recordsOf(sources, facts);
}

/** Refuses groups of one, which have nothing to compare, unless several agents of an episode are compared. */
function checkGroups(
  { orchestrator: { train } }: RlConfig,
  facts: readonly EnvironmentFacts[],
  { provenance }: UserCodeOptions,
): void {
  train.source.forEach(({ name, algo, group_size: size }, index) => {
    if (size > 1 || !needsGroups(algo) || (facts[index]?.agents ?? 1) > 1) return;
    const own = ["orchestrator", "train", "source", index, "group_size"];
    const key = originIn(provenance, own) === undefined ? ["orchestrator", "group_size"] : own;
    const problem = `is 1, and "${algo.type}" compares the rollouts of a group: every advantage of the source "${name}" would be 0`;
    const advice = "raise it, or take another algorithm";
    throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${problem}; ${advice}`);
  });
}

/** Checks the evaluation environments, whose block is at `at`. Errors: as `checkRlEnvironments`. */
export async function checkEvaluations(
  at: KeyPath,
  { orchestrator, sandbox }: RlConfig,
  options: UserCodeOptions,
): Promise<EnvironmentRecord[]> {
  const sources = sourcesOf("eval", at, orchestrator.eval?.source ?? []);
  return recordsOf(sources, await checkSources(sources, [], sandbox, options));
}

/** The same for environments that have to give demonstrations; empty where data files give them. */
export async function checkSftEnvironments(
  { data }: SftConfig,
  options: UserCodeOptions,
): Promise<EnvironmentRecord[]> {
  const sources = demonstrators(data).map(({ key, env }) => ({ kind: "environment", at: key, env }) as const);
  const facts = await environmentFacts(sources, options);
  return facts.map((environment, index) => {
    if (!environment.demonstrates) {
      const problem = `the environment "${environment.name}" gives no demonstrations to learn from`;
      const place = placeOf(sources[index]?.at ?? [], options.provenance);
      throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${problem}`);
    }
    return environmentRecord("demonstrations", environment, environment.origin);
  });
}

/** The facts of environments, in their order. Errors: those of `checkUserCode`. */
export async function environmentFacts(
  checks: readonly (CodeCheck & { kind: "environment" })[],
  options: UserCodeOptions,
): Promise<EnvironmentFacts[]> {
  return (await checkUserCode(checks, options)).filter((facts) => facts !== null);
}

interface NamedCheck {
  readonly name: string;
  readonly check: CodeCheck & { kind: "environment" };
}

function sourcesOf(
  part: string,
  at: KeyPath,
  sources: readonly { name: string; env: EnvironmentBlock }[],
): NamedCheck[] {
  return sources.map(({ name, env }, index) => ({
    name: `${part}/${name}`,
    check: { kind: "environment", at: [...at, "source", index, "env"], env },
  }));
}

/** The custom functions that trainer and orchestrator will call. */
function functionsOf({ orchestrator, trainer }: RlConfig): CodeCheck[] {
  const named: { at: KeyPath; path: string | null; shape: string }[] = [
    { at: ["trainer", "loss", "path"], path: trainer.loss.path, shape: LOSS },
    { at: ["orchestrator", "algo", "path"], path: orchestrator.algo.path, shape: ADVANTAGES },
    ...orchestrator.train.source.map(({ algo }, index) => ({
      at: ["orchestrator", "train", "source", index, "algo", "path"],
      path: algo.path === orchestrator.algo.path ? null : algo.path,
      shape: ADVANTAGES,
    })),
    ...orchestrator.filters.map(({ path }, index) => ({
      at: ["orchestrator", "filters", index, "path"],
      path,
      shape: FILTER,
    })),
  ];
  return named.flatMap(({ at, path, shape }) => (path === null ? [] : [{ kind: "function", at, path, shape }]));
}

async function checkSources(
  sources: readonly NamedCheck[],
  functions: readonly CodeCheck[],
  sandbox: RlConfig["sandbox"],
  options: UserCodeOptions,
): Promise<EnvironmentFacts[]> {
  const facts = await checkUserCode([...sources.map(({ check }) => check), ...functions], options);
  const environments = facts.filter((found) => found !== null);
  const sandboxes = sandboxSource(sandbox);
  try {
    await checkSandboxes(sandboxes, environments);
  } finally {
    await sandboxes.close();
  }
  return environments;
}

function recordsOf(sources: readonly NamedCheck[], facts: readonly EnvironmentFacts[]): EnvironmentRecord[] {
  return facts.map((found, index) => environmentRecord(sources[index]?.name ?? "", found, found.origin));
}
