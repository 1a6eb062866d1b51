/** `prl env push [<folder>]`: checks a built package, validates its environment, packs it and publishes it with npm. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, resolve } from "node:path";

import { z } from "zod";

import {
  checkPackage,
  type EnvironmentPackage,
  locateEnvironment,
  manifestOf,
  npm,
  npmJson,
  type NpmOptions,
  packageIn,
  packageNeeds,
  publishProblem,
  registryArguments,
} from "../../../../environments/internal.ts";
import { SandboxSource, validateEnvironment } from "../../../../environments/index.ts";
import { PrlError } from "../../../../errors.ts";
import type { PlainArguments } from "../../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../../command.ts";
import { environmentArgs } from "../options.ts";
import { npmOptions } from "./hub-options.ts";

/** Most failures of the validation that are named. */
const SHOWN = 3;

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
  await checkEnvironment(found, args);
  const options = { ...npmOptions(args, io), cwd: dir };
  const place = await mkdtemp(join(tmpdir(), "prl-push-"));
  try {
    const archive = await pack(found, place, options);
    if (!args.options.has("--dry-run")) await publish(found, join(place, archive.filename), args, options);
    report(found, archive, args.options.has("--dry-run"), io);
  } finally {
    await rm(place, { recursive: true, force: true });
  }
  return EXIT.done;
}

/** Errors: PRL_ENVIRONMENT_INVALID for needs that are not declared, PRL_ENVIRONMENT_FAILED for an environment that is not valid. */
async function checkEnvironment(found: EnvironmentPackage, args: PlainArguments): Promise<void> {
  const { environment } = await locateEnvironment({ path: found.dir });
  if (environment.requires.sandbox !== undefined && packageNeeds(manifestOf(found.dir)).sandbox === undefined)
    throw new PrlError(
      "PRL_ENVIRONMENT_INVALID",
      `${found.name} requires sandboxes and does not declare it: add "needs": { "sandbox": "any" } to "prl" in package.json`,
    );
  const sandboxes = new SandboxSource();
  try {
    const { failures } = await validateEnvironment(environment.configure(environmentArgs(args), { sandboxes }));
    if (failures.length === 0) return;
    const shown = failures.slice(0, SHOWN).map(({ check, message }) => `${check}: ${message}`);
    throw new PrlError(
      "PRL_ENVIRONMENT_FAILED",
      `${found.name} is not valid (${failures.length} failures; prl env validate ${found.dir} lists them): ${shown.join("; ")}`,
    );
  } finally {
    await sandboxes.close();
  }
}

/** The archive, without running scripts of the package. Errors: PRL_ENVIRONMENT_INVALID when its module is not in it. */
async function pack({ name, dir, entry }: EnvironmentPackage, place: string, options: NpmOptions): Promise<Packed> {
  const answer = await npmJson(["pack", "--pack-destination", place], options);
  const [first] = Object.values((answer ?? {}) as Record<string, unknown>);
  const parsed = packed.safeParse(first);
  if (!parsed.success)
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm pack of ${name} did not say what it packed`, {
      cause: parsed.error,
    });
  const module = relative(dir, entry.replace(/#[^#/\\]*$/u, ""));
  if (parsed.data.files.some(({ path }) => path === module)) return parsed.data;
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${name}: "files" in package.json leaves out ${module}, its environment`,
  );
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

function report({ name, version }: EnvironmentPackage, archive: Packed, isDry: boolean, io: CommandIo): void {
  const { integrity, size, files } = archive;
  if (io.json) {
    io.writeJson({ name, version, integrity, size, files: files.map(({ path }) => path), published: !isDry });
    return;
  }
  const what = `${name} ${version}, ${files.length} files, ${size} bytes, ${integrity}`;
  io.stdout.write(isDry ? `${what}: may be published\n` : `${what}: published\nprl env install ${name}@${version}\n`);
}
