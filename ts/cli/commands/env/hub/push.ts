/** `prl env push [<folder>]`: checks a built package, validates its environment, packs it and publishes it with npm. */
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

import { z } from "zod";

import {
  checkPackage,
  type EnvironmentPackage,
  manifestOf,
  npm,
  npmJson,
  type NpmOptions,
  packageIn,
  type PackageReport,
  publishProblem,
  registryArguments,
  reportCounts,
} from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import type { PlainArguments } from "../../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../../command.ts";
import { examinePackage } from "../../../environment-check/examine-package.ts";
import { environmentArgs } from "../options.ts";
import { npmOptions } from "./hub-options.ts";

/** Folder of the copy, beside the archive. */
const STAGED = "package";

const packed = z.object({
  filename: z.string(),
  integrity: z.string(),
  size: z.number(),
  files: z.array(z.object({ path: z.string() })),
});
type Packed = z.infer<typeof packed>;

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const [given = ".", ...rest] = args.positionals;
  if (rest.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl env push: expected one folder");
  const dir = resolve(io.cwd, given);
  const found = packageIn(dir);
  checkPackage(dir);
  const problem = publishProblem(found);
  if (problem !== null) throw new PrlError("PRL_ENVIRONMENT_INVALID", problem);
  const examined = await examinePackage(found, { args: environmentArgs(args), signal: io.signal });
  const options = npmOptions(args, io);
  const place = await mkdtemp(join(tmpdir(), "prl-push-"));
  try {
    await stage(found, { place, report: examined }, { ...options, cwd: dir });
    const archive = await pack(found, place, { ...options, cwd: join(place, STAGED) });
    if (!args.options.has("--dry-run")) await publish(found, join(place, archive.filename), args, options);
    report({ found, archive, examined, isDry: args.options.has("--dry-run") }, io);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
  return EXIT.done;
}

/**
 * Copies the files that npm would pack, and puts the report into the copy of package.json: the author's own files are not changed. Errors:
 * PRL_ENVIRONMENT_INVALID when its module is not among the files.
 */
async function stage(
  { name, dir, entry }: EnvironmentPackage,
  { place, report: examined }: { readonly place: string; readonly report: PackageReport },
  options: NpmOptions,
): Promise<void> {
  const { files } = await packedBy(["--dry-run"], name, options);
  const module = relative(dir, entry.replace(/#[^#/\\]*$/u, ""));
  if (!files.some(({ path }) => path === module))
    throw new PrlError(
      "PRL_ENVIRONMENT_INVALID",
      `${name}: "files" in package.json leaves out ${module}, its environment`,
    );
  for (const { path } of files) await cp(join(dir, path), join(place, STAGED, path));
  const manifest = manifestOf(dir);
  const prl = { ...(manifest["prl"] as object), report: examined };
  await writeFile(join(place, STAGED, "package.json"), `${JSON.stringify({ ...manifest, prl }, null, 2)}\n`);
}

async function pack({ name }: EnvironmentPackage, place: string, options: NpmOptions): Promise<Packed> {
  return packedBy(["--pack-destination", place], name, options);
}

/** The output of `npm pack`, which runs no scripts of the package. */
async function packedBy(args: readonly string[], name: string, options: NpmOptions): Promise<Packed> {
  const answer = await npmJson(["pack", ...args], options);
  const [first] = Object.values((answer ?? {}) as Record<string, unknown>);
  const parsed = packed.safeParse(first);
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm pack of ${name} did not say what it packed`, {
    cause: parsed.error,
  });
}

async function publish(
  { name }: EnvironmentPackage,
  archive: string,
  { options: given }: PlainArguments,
  options: NpmOptions,
): Promise<void> {
  const access = name.startsWith("@") ? ["--access", given.get("--access") ?? "public"] : [];
  const tag = given.get("--tag");
  await npm(
    [
      "publish",
      archive,
      ...access,
      ...(tag === undefined ? [] : ["--tag", tag]),
      ...registryArguments(options.registry, name),
    ],
    options,
  );
}

interface Pushed {
  readonly found: EnvironmentPackage;
  readonly archive: Packed;
  readonly examined: PackageReport;
  readonly isDry: boolean;
}

function report({ found: { name, version }, archive, examined, isDry }: Pushed, io: CommandIo): void {
  const { integrity, size, files } = archive;
  const checks = reportCounts(examined);
  if (io.json) {
    io.writeJson({ name, version, integrity, size, files: files.map(({ path }) => path), checks, published: !isDry });
    return;
  }
  const failed = examined.rows.filter(({ status }) => status === "failed").map(({ check }) => check);
  const counts = `${checks.passed} checks passed, ${checks.unchecked} could not be made, ${failed.length} failed`;
  const advice =
    failed.length === 0 ? "" : ` (${failed.join(", ")}: prl env test has the reasons; the package says so)`;
  const what = `${name} ${version}, ${files.length} files, ${size} bytes, ${integrity}\n${counts}${advice}`;
  io.stdout.write(
    isDry ? `${what}\nIt may be published.\n` : `${what}\nPublished: prl env install ${name}@${version}\n`,
  );
}
