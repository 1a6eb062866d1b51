/** `prl env install <spec>...`: npm installs environment packages into the project here; none of their scripts run. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { type LocatedEnvironment, locateEnvironment, parsePackageId } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";

const TIMEOUT_S = 600;
const NPM_ARGUMENTS = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  if (positionals.length === 0)
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl env install: name packages: owner/name, owner/name@1.2.0, what npm takes, a folder or a .tgz",
    );
  const before = dependencies(io.cwd);
  const specs = positionals.map((given) => npmSpec(given, io.cwd));
  await npm([...NPM_ARGUMENTS, ...specs], 1000 * numberOption(options, "--timeout-s", TIMEOUT_S), io);
  const installed: LocatedEnvironment[] = [];
  for (const name of installedNames(positionals, before, io.cwd)) installed.push(await loadInstalled(name, io.cwd));
  const rows = installed.map(({ environment: { name, version }, origin }) => ({ name, version, origin }));
  if (io.json) io.writeJson({ installed: rows });
  else for (const { name, version, origin } of rows) io.stdout.write(`${name} ${version}: ${originText(origin)}\n`);
  return EXIT.done;
}

/** npm would search for `owner/name` on GitHub, so it gets the scoped name; a path must look like one to npm. */
function npmSpec(given: string, cwd: string): string {
  if (isPath(given)) {
    const path = resolve(cwd, given);
    if (!existsSync(path)) throw new PrlError("PRL_CLI_USAGE", `prl env install: there is no ${path}`);
    return path;
  }
  const id = parsePackageId(given);
  if (id === null) return given;
  return id.version === null ? id.name : `${id.name}@${id.version}`;
}

function isPath(given: string): boolean {
  return /^\.{0,2}\/|^\.{1,2}$/u.test(given) || given.endsWith(".tgz");
}

/** Resolves when npm ends; npm's output goes to stderr. */
async function npm(args: readonly string[], timeoutMs: number, io: CommandIo): Promise<void> {
  const child = spawn("npm", args, { cwd: io.cwd, env: { ...io.env }, stdio: ["ignore", "pipe", "pipe"] });
  const stop = (): void => void child.kill("SIGTERM");
  io.signal.addEventListener("abort", stop, { once: true });
  const timer = setTimeout(stop, timeoutMs);
  try {
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => io.stderr.write(String(text)));
    const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
      child.once("error", fail);
      child.once("close", (...end) => done(end));
    });
    if (code === 0) return;
    if (io.signal.aborted) throw new PrlError("PRL_RUN_INTERRUPTED", "prl env install was interrupted");
    const how = signal === null ? `exited with ${code}` : `was ended after ${timeoutMs / 1000} s (--timeout-s)`;
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm ${args.join(" ")} ${how}; its output is above`);
  } catch (cause) {
    if (cause instanceof PrlError) throw cause;
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", "npm could not be started; it comes with Node", { cause });
  } finally {
    clearTimeout(timer);
    io.signal.removeEventListener("abort", stop);
  }
}

/** The packages that were named, and those that npm added as dependencies of the project for a folder or a file. */
function installedNames(
  given: readonly string[],
  before: Readonly<Record<string, string>>,
  cwd: string,
): readonly string[] {
  const names = new Set<string>();
  for (const spec of given) {
    const folder = resolve(cwd, spec);
    const isFolder = isPath(spec) && statSync(folder).isDirectory();
    const name = isFolder ? manifestOf(folder)["name"] : parsePackageId(spec)?.name;
    if (typeof name === "string" && !spec.endsWith(".tgz")) names.add(name);
  }
  const files = given.filter((spec) => spec.endsWith(".tgz")).map((spec) => spec.replace(/^.*\//u, ""));
  for (const [name, spec] of Object.entries(dependencies(cwd))) {
    if (before[name] !== spec || files.some((file) => spec.endsWith(file))) names.add(name);
  }
  return [...names];
}

async function loadInstalled(name: string, cwd: string): Promise<LocatedEnvironment> {
  try {
    return await locateEnvironment({ id: name }, cwd);
  } catch (cause) {
    if (!(cause instanceof PrlError)) throw cause;
    const message = `${name} is installed and cannot be used (npm uninstall ${name} removes it): ${cause.message}`;
    throw new PrlError(cause.code, message, { cause: cause.cause });
  }
}

/** Dependencies in the nearest package.json, which npm takes as the project. */
function dependencies(from: string): Readonly<Record<string, string>> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    if (existsSync(join(folder, "package.json")))
      return (manifestOf(folder)["dependencies"] ?? {}) as Record<string, string>;
    if (folder === dirname(folder)) return {};
  }
}

function manifestOf(folder: string): Readonly<Record<string, unknown>> {
  const path = join(folder, "package.json");
  try {
    return JSON.parse(readFileSync(path, "utf8")) as Record<string, unknown>;
  } catch (cause) {
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `${path} cannot be read`, { cause });
  }
}

function originText(origin: LocatedEnvironment["origin"]): string {
  return origin.kind === "package" ? `package ${origin.name} ${origin.version} in ${origin.dir}` : origin.kind;
}
