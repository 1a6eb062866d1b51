/** `prl env init <name> [--template <template>]`: a package with an environment that builds, tests and runs as it is. */
import { cpSync, existsSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

import { parsePackageId } from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import { makeFolder } from "../../../../files/make-folder.ts";
import type { PlainArguments } from "../../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../../command.ts";
import { packageManifest } from "../../../../version.ts";
import { templateFiles } from "./package-files.ts";
import { DEFAULT_TEMPLATE, type Template, type TemplateName, TEMPLATES } from "./templates.ts";

/** The package's folder: sources and build output are equally deep below it. */
const ROOT = fileURLToPath(new URL("../../../../../", import.meta.url));
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
  const chosen = (options.get("--template") ?? DEFAULT_TEMPLATE) as TemplateName;
  const template: Template = TEMPLATES[chosen];
  const folder = join(ROOT, "configs/environment-templates", chosen);
  const files = templateFiles(folder, template, { packageName, name, prlSpec: prlSpecFor(dir) });
  for (const [path, text] of Object.entries(files)) {
    makeFolder(dirname(join(dir, path)));
    writeFileSync(join(dir, path), text);
  }
  const hasModel = template.model === true;
  if (hasModel) cpSync(join(ROOT, "configs/reverse-text/model"), join(dir, "model"), { recursive: true });
  if (io.json) {
    const made = [...Object.keys(files), ...(hasModel ? ["model/"] : [])];
    io.writeJson({ name, package: packageName, template: chosen, dir, files: made });
    return EXIT.done;
  }
  const next = hasModel ? "npx prl rl rl.toml" : "npx prl eval eval.toml";
  const place = relative(io.cwd, dir) || ".";
  io.stdout.write(
    `${packageName} is in ${dir}\n\n  cd ${place}\n  npm install --ignore-scripts && npm test\n  ${next}\n`,
  );
  return EXIT.done;
}

/** The specifier of prl for npm: this version, or this very folder when it is a checkout. */
function prlSpecFor(dir: string): string {
  if (ROOT.split(sep).includes("node_modules")) return `^${packageManifest().version}`;
  const parent = dirname(dir);
  const from = existsSync(parent) ? join(realpathSync(parent), "x") : dir;
  return `file:${relative(from, realpathSync(ROOT))}`;
}
