/** The options of the forms of `prl env` that use a hub, and the names of packages. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";

import { npm, type NpmOptions, tokenFor } from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import { numberOption, type PlainArguments } from "../../../arguments/args.ts";
import { RULES } from "../../../arguments/option-rule.ts";
import type { CommandIo, CommandOption } from "../../../command.ts";

const TIMEOUT_S = 600;

export const REGISTRY: CommandOption = {
  flag: "--registry",
  value: "<url>",
  rule: { is: "url" },
  summary: "Address of the hub, an npm registry (default: the one of npm's settings)",
};
export const TIMEOUT: CommandOption = {
  flag: "--timeout-s",
  value: "<n>",
  rule: RULES.seconds,
  summary: "Limit of the time of npm, in seconds (600)",
};
export const YES: CommandOption = { flag: "--yes", summary: "Accept what the packages declare that they need" };

export const UNSIGNED: CommandOption = {
  flag: "--unsigned",
  summary: "Accept packages without a signature from a registry that signs its packages",
};

/** How npm is run for a form. */
export function npmOptions({ options }: PlainArguments, io: CommandIo): NpmOptions {
  return {
    cwd: io.cwd,
    env: io.env,
    signal: io.signal,
    timeoutMs: 1000 * numberOption(options, "--timeout-s", TIMEOUT_S),
    registry: options.get("--registry"),
    onMessage: (text) => void io.stderr.write(text),
  };
}

/** A package as it was named on the command line. */
export type NamedPackage =
  | { readonly kind: "hub"; readonly name: string; readonly range: string | null }
  | { readonly kind: "path"; readonly path: string }
  /** Something else that npm understands. */
  | { readonly kind: "npm"; readonly spec: string };

/** Reads `owner/name@range`, a folder or archive, or another specifier of npm. Errors: PRL_CLI_USAGE for a path with nothing there. */
export function namedPackage(given: string, form: string, cwd: string): NamedPackage {
  if (/^\.{0,2}\/|^\.{1,2}$/u.test(given) || given.endsWith(".tgz")) {
    const path = resolve(cwd, given);
    if (!existsSync(path)) throw new PrlError("PRL_CLI_USAGE", `prl env ${form}: there is no ${path}`);
    return { kind: "path", path };
  }
  const match = /^(?:@?([a-z0-9][\w.-]*)\/)?([a-z0-9][\w.-]*)(?:@([^/:]+))?$/iu.exec(given);
  if (match === null) return { kind: "npm", spec: given };
  const [, owner, name = "", range] = match;
  return { kind: "hub", name: owner === undefined ? name : `@${owner}/${name}`, range: range ?? null };
}

/** The one package of a hub that a form takes. Errors: PRL_CLI_USAGE. */
export function hubPackage(given: string | undefined, form: string, io: CommandIo): NamedPackage & { kind: "hub" } {
  const named = given === undefined ? null : namedPackage(given, form, io.cwd);
  if (named?.kind === "hub") return named;
  throw new PrlError("PRL_CLI_USAGE", `prl env ${form}: expected a package, such as owner/name or owner/name@1.2.0`);
}

/** `@owner/name@range`, as npm writes it. */
export function specOf({ name, range }: { readonly name: string; readonly range: string | null }): string {
  return range === null ? name : `${name}@${range}`;
}

/** The hub's address and the token for it. */
export async function hubAddress(
  args: PlainArguments,
  io: CommandIo,
): Promise<{ registry: string; token: string | null }> {
  const given = args.options.get("--registry");
  const registry = given ?? (await npm(["config", "get", "registry"], npmOptions(args, io))).trim();
  return { registry, token: await tokenFor(registry, io.env) };
}
