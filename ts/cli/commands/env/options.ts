/** Shared by the forms of `prl env`. */
import { type LocatedEnvironment, environmentReference, locateEnvironment } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import type { CommandIo, CommandOption } from "../../command.ts";

export const ARGS: CommandOption = {
  flag: "--args",
  value: "<json>",
  summary: "Arguments of the environment, a JSON object; missing keys have their defaults",
};

/** The environment that the only positional argument names, seen from the current folder. */
export async function namedEnvironment(
  { positionals }: PlainArguments,
  form: string,
  io: CommandIo,
): Promise<LocatedEnvironment> {
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl env ${form}: expected one environment, an id or a path`);
  return locateEnvironment(environmentReference(name), io.cwd);
}

/** The object of `--args`, empty when it is absent. */
export function environmentArgs({ options }: PlainArguments): Record<string, unknown> {
  const text = options.get("--args");
  if (text === undefined) return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_CLI_USAGE", `--args: expected a JSON object, got ${text}`, { cause });
  }
  throw new PrlError("PRL_CLI_USAGE", `--args: expected a JSON object, got ${text}`);
}
