/**
 * npm's settings file of the user (`~/.npmrc`): tokens of hubs and the hub of each owner, in npm's own format, so that npm finds them too.
 */
import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import { atomicWriteFile } from "../../files/atomic-write.ts";
import { ifThere } from "../../files/file-presence.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** npm's settings file: the one of `npm_config_userconfig`, else `~/.npmrc`. */
export function npmrcPath(env: Variables): string {
  return env["npm_config_userconfig"] ?? env["NPM_CONFIG_USERCONFIG"] ?? join(env["HOME"] ?? homedir(), ".npmrc");
}

/** Sets keys in the file and leaves the other lines; only its owner may read it. */
export async function setNpmrc(path: string, values: Readonly<Record<string, string>>): Promise<void> {
  const lines = (await linesOf(path)).filter((line) => !Object.hasOwn(values, keyOf(line)));
  const added = Object.entries(values).map(([key, value]) => `${key}=${value}`);
  await atomicWriteFile(path, `${[...lines, ...added].join("\n")}\n`, 0o600);
}

/** The token for a hub; null when there is none. `${NAME}` in it stands for an environment variable. */
export async function tokenFor(registry: string, env: Variables): Promise<string | null> {
  const key = tokenKey(registry);
  const line = (await linesOf(npmrcPath(env))).find((each) => keyOf(each) === key);
  if (line === undefined) return null;
  const value = line.slice(line.indexOf("=") + 1).trim();
  return value.replace(/\$\{(\w+)\}/gu, (_, name: string) => env[name] ?? "");
}

/** The key of a hub's token: its address without the protocol. */
export function tokenKey(registry: string): string {
  const { host, pathname } = new URL(registry);
  return `//${host}${pathname.endsWith("/") ? pathname : `${pathname}/`}:_authToken`;
}

async function linesOf(path: string): Promise<string[]> {
  const text = await ifThere(readFile(path, "utf8"), path);
  return (text ?? "").split("\n").filter((line) => line.trim() !== "");
}

function keyOf(line: string): string {
  const end = line.indexOf("=");
  return (end === -1 ? line : line.slice(0, end)).trim();
}
