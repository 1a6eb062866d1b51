/** `prl env pull <package>`: the files of a package in a folder, without those that it depends on. */
import { cp } from "node:fs/promises";
import { existsSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";

import { registryArguments, withStaged } from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";
import type { PlainArguments } from "../../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../../command.ts";
import { hubPackage, npmOptions, specOf } from "./hub-options.ts";

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const [given, ...rest] = args.positionals;
  if (rest.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl env pull: expected one package");
  const named = hubPackage(given, "pull", io);
  const dir = resolve(io.cwd, args.options.get("--dir") ?? basename(named.name));
  if (existsSync(dir) && readdirSync(dir).length > 0)
    throw new PrlError("PRL_CLI_USAGE", `prl env pull: ${dir} is not empty; name another folder with --dir`);
  const options = npmOptions(args, io);
  const version = await withStaged(
    [...registryArguments(options.registry, named.name), specOf(named)],
    { ...options, allowsUnsigned: args.options.has("--unsigned") },
    async ({ packages }) => {
      const found = packages.find(({ name }) => name === named.name);
      if (found === undefined) throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm has not fetched ${named.name}`);
      const nested = join(found.dir, "node_modules");
      await cp(found.dir, dir, { recursive: true, filter: (path) => path !== nested });
      return found.version;
    },
  );
  if (io.json) io.writeJson({ name: named.name, version, dir });
  else io.stdout.write(`${named.name} ${version} is in ${dir}\n`);
  return EXIT.done;
}
