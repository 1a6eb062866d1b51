/**
 * `prl env install <package>...`: npm installs environment packages into the project here, and `environments.lock` names them.
 *
 * Packages are first fetched to a temporary folder and checked there, and what they declare that they need is shown. None of their code
 * runs, neither scripts nor the environment.
 */
import { statSync } from "node:fs";

import {
  checkPackage,
  contentDigest,
  type EnvironmentPackage,
  manifestOf,
  npm,
  type NpmOptions,
  packageIn,
  packageNeeds,
  packageSeenFrom,
  projectOf,
  registryArguments,
  type StagedPackage,
  withStaged,
} from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import type { PlainArguments } from "../../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../../command.ts";
import { acceptNeeds } from "./ask.ts";
import { type NamedPackage, namedPackage, npmOptions, specOf } from "./hub-options.ts";
import { lockInstalled } from "./relock.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const { positionals } = args;
  if (positionals.length === 0)
    throw new PrlError(
      "PRL_CLI_USAGE",
      "prl env install: name packages: owner/name, owner/name@1.2.0, owner/name@^1, what npm takes, a folder or a .tgz",
    );
  const named = positionals.map((given) => namedPackage(given, "install", io.cwd));
  const installed = await installPackages(named, args, io);
  const rows = installed.map(({ name, version, dir }) => ({
    name: name.replace(/^@[^/]*\//u, ""),
    version,
    origin: { kind: "package", name, version, dir },
  }));
  if (io.json) io.writeJson({ installed: rows });
  else
    for (const { name, origin } of rows)
      io.stdout.write(`${name} ${origin.version}: package ${origin.name} ${origin.version} in ${origin.dir}\n`);
  return EXIT.done;
}

/** Fetches, checks, asks, installs and locks. Returns the named packages. */
export async function installPackages(
  named: readonly NamedPackage[],
  args: PlainArguments,
  io: CommandIo,
): Promise<EnvironmentPackage[]> {
  const options = npmOptions(args, io);
  const folders = named.flatMap((one) => (isFolder(one) ? [one.path] : []));
  for (const folder of folders) checkPackage(folder);
  const local = folders.map((folder) => {
    const { name, version, dir } = packageIn(folder);
    return { name, version, needs: packageNeeds(manifestOf(dir)) };
  });
  const linked = local.map(({ name }) => name);
  const isAccepted = args.options.has("--yes");
  const fetched = named.filter((one) => !isFolder(one));
  const registries = [...new Set(named.flatMap((one) => registriesOf(one, options)))];
  if (fetched.length === 0) {
    await acceptNeeds(local, isAccepted, io);
    return install({ specs: folders, registries, linked, staged: [] }, options);
  }
  const staging = { ...options, allowsUnsigned: args.options.has("--unsigned") };
  return withStaged([...registries, ...fetched.map(npmSpec)], staging, async ({ packages: staged, signatures }) => {
    if (signatures.signed > 0) io.stderr.write(`${signatures.signed} packages are signed by their registry\n`);
    await acceptNeeds([...local, ...staged], isAccepted, io);
    const specs = [...folders, ...fetched.map((one) => pinned(one, staged))];
    return install({ specs, registries, linked, staged }, options);
  });
}

interface Installation {
  readonly specs: readonly string[];
  /** npm's arguments that name the hub. */
  readonly registries: readonly string[];
  /** Names of packages that are installed by their folder. */
  readonly linked: readonly string[];
  readonly staged: readonly StagedPackage[];
}

async function install(
  { specs, registries, linked, staged }: Installation,
  options: NpmOptions,
): Promise<EnvironmentPackage[]> {
  await npm(["install", ...registries, ...specs], options);
  for (const { name, version, content } of staged) await assertSame(name, { version, content }, options.cwd);
  const packages = [...linked, ...staged.filter(({ isNamed }) => isNamed).map(({ name }) => name)].map((name) =>
    installedPackage(name, options.cwd),
  );
  const projects = new Set(packages.map(({ dir }) => projectOf(dir)).filter((project) => project !== null));
  const added = staged.map(({ name }) => name);
  for (const project of projects) await lockInstalled(project, added);
  return packages;
}

function installedPackage(name: string, cwd: string): EnvironmentPackage {
  const found = packageSeenFrom(name, cwd);
  if (found === null) throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm has not installed ${name} for ${cwd}`);
  return packageIn(found.dir);
}

/** Refuses an installed package that is not the one that was checked and shown. */
async function assertSame(
  name: string,
  expected: { readonly version: string; readonly content: string },
  cwd: string,
): Promise<void> {
  const found = installedPackage(name, cwd);
  if (found.version === expected.version && (await contentDigest(found.dir)) === expected.content) return;
  throw new PrlError(
    "PRL_ENVIRONMENT_INTEGRITY",
    `${name} ${found.version} in ${found.dir} is not the package that was checked (${expected.version}): prl env uninstall ${name} removes it`,
  );
}

function isFolder(named: NamedPackage): named is NamedPackage & { kind: "path" } {
  return named.kind === "path" && statSync(named.path).isDirectory();
}

/** npm would search for `owner/name` on GitHub, so it gets the scoped name. */
function npmSpec(named: NamedPackage): string {
  if (named.kind === "hub") return specOf(named);
  return named.kind === "path" ? named.path : named.spec;
}

/** The version that was checked. */
function pinned(named: NamedPackage, staged: readonly StagedPackage[]): string {
  if (named.kind !== "hub") return npmSpec(named);
  const found = staged.find(({ name }) => name === named.name);
  return found === undefined ? npmSpec(named) : `${found.name}@${found.version}`;
}

function registriesOf(named: NamedPackage, { registry }: NpmOptions): string[] {
  return named.kind === "hub" ? registryArguments(registry, named.name) : [];
}
