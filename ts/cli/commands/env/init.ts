/** `prl env init <name>`: a package with an environment that builds, tests and trains as it is. */
import { cpSync, existsSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { parsePackageId } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { packageManifest } from "../../../version.ts";
import { templateFiles } from "./template.ts";

/** The package's folder: sources and build output are equally deep below it. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/u;

export async function run({ positionals, options }: PlainArguments, io: CommandIo): Promise<number> {
  const [given, ...rest] = positionals;
  if (given === undefined || rest.length > 0)
    throw new PrlError("PRL_CLI_USAGE", "prl env init: expected one name, such as my-env or @owner/my-env");
  const packageName = parsePackageId(given)?.name ?? "";
  const name = packageName.replace(/^@[^/]*\//u, "");
  if (!NAME.test(name) || packageName !== packageName.toLowerCase() || /[^/]@/u.test(given))
    throw new PrlError(
      "PRL_CLI_USAGE",
      `prl env init: ${JSON.stringify(given)} is not a valid name: use lower-case words with hyphens between them, with or without an owner in front`,
    );
  const dir = resolve(io.cwd, options.get("--dir") ?? name);
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl env init: ${dir} is not empty; name another folder with --dir`);
  const files = templateFiles({ packageName, name, prlSpec: prlSpecFor(dir) });
  for (const [path, text] of Object.entries(files)) {
    makeFolder(dirname(join(dir, path)));
    writeFileSync(join(dir, path), text);
  }
  cpSync(join(ROOT, "configs/reverse-text/model"), join(dir, "model"), { recursive: true });
  if (io.json) io.writeJson({ name, package: packageName, dir, files: [...Object.keys(files), "model/"] });
  else {
    const folder = relative(io.cwd, dir) || ".";
    io.stdout.write(
      `${packageName} is in ${dir}\n\n  cd ${folder}\n  npm install --ignore-scripts && npm test\n  npx prl rl rl.toml\n`,
    );
  }
  return EXIT.done;
}

/** The specifier of prl for npm: this version, or this very folder when it is a checkout. */
function prlSpecFor(dir: string): string {
  if (ROOT.split(sep).includes("node_modules")) return `^${packageManifest().version}`;
  const parent = dirname(dir);
  const from = existsSync(parent) ? join(realpathSync(parent), "x") : dir;
  return `file:${relative(from, realpathSync(ROOT))}`;
}
