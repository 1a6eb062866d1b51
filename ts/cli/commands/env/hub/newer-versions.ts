/** Asks npm which installed environments have newer versions in the hub. */
import { z } from "zod";

import { environmentPackages, npmJson, type NpmOptions } from "../../../../environments/internal.ts";
import { PrlError } from "../../../../errors.ts";

/** `npm outdated` ends with 1 when something is outdated. */
const ENDS = [0, 1];

export interface NewerVersion {
  readonly name: string;
  /** The version that is installed. */
  readonly current: string;
  /** The newest that package.json allows. */
  readonly wanted: string;
  readonly latest: string;
}

const one = z.object({ current: z.string().optional(), wanted: z.string(), latest: z.string() });
const schema = z.record(z.string(), z.union([one, z.array(one)]));

/** Installed environments that are not the newest, by name. `registries`: npm's arguments that name the hub. */
export async function newerVersions(registries: readonly string[], options: NpmOptions): Promise<NewerVersion[]> {
  const answer = await npmJson(["outdated", ...registries], options, ENDS);
  const parsed = schema.safeParse(answer ?? {});
  if (!parsed.success)
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", "npm outdated did not answer; its output is above", {
      cause: parsed.error,
    });
  const environments = environmentPackages(options.cwd);
  return Object.entries(parsed.data)
    .filter(([name]) => environments.has(name))
    .flatMap(([name, found]) => {
      const { current, wanted, latest } = Array.isArray(found) ? (found[0] ?? { wanted: "", latest: "" }) : found;
      return current === undefined ? [] : [{ name, current, wanted, latest }];
    });
}
