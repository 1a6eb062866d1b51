/**
 * The needs of an environment, as its package declares them: `"prl": { "needs": { ... } }` in package.json. `prl env install` shows it and asks.
 *
 * A package that declares nothing needs nothing. The declaration grants nothing: sandboxes, keys and hosts come from the config of a run.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { isRecord, type Manifest } from "./environment-package.ts";

/** The weakest isolation that is enough; `any`: whatever the machine has. */
const TIERS = ["any", "process", "rootless", "full"] as const;

export interface PackageNeeds {
  readonly sandbox?: (typeof TIERS)[number] | undefined;
  /** Hosts that its sandboxes or its own code reach. */
  readonly network?: readonly string[] | undefined;
  /** Environment variables with keys. */
  readonly secrets?: readonly string[] | undefined;
  /** Images of its sandboxes. */
  readonly images?: readonly string[] | undefined;
  /** Space for what it downloads or builds, in MB. */
  readonly disk_mb?: number | undefined;
}

const names = z.array(z.string().min(1).max(200)).max(100).optional();
const schema = z.strictObject({
  sandbox: z.enum(TIERS).optional(),
  network: names,
  secrets: names,
  images: names,
  disk_mb: z.int().min(1).optional(),
});

/** The declared needs. Throws PRL_ENVIRONMENT_INVALID naming the key that is wrong. */
export function packageNeeds({ name, prl }: Manifest): PackageNeeds {
  const declared = isRecord(prl) ? (prl["needs"] ?? {}) : {};
  const parsed = schema.safeParse(declared);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const key = ["prl", "needs", ...(issue?.path ?? [])].join(".");
  const known = Object.keys(schema.shape).join(", ");
  const problem = issue?.code === "unrecognized_keys" ? `${issue.message} (known are ${known})` : issue?.message;
  throw new PrlError("PRL_ENVIRONMENT_INVALID", `package.json of ${String(name)}: ${key}: ${problem ?? "is wrong"}`);
}

/** One line for each need; none when nothing is needed. */
export function needsLines({ sandbox, network, secrets, images, disk_mb: disk }: PackageNeeds): string[] {
  const list = (title: string, values: readonly string[] = []): string[] =>
    values.length === 0 ? [] : [`${title} ${values.join(", ")}`];
  return [
    ...(sandbox === undefined ? [] : [`sandbox  ${sandbox === "any" ? "any tier" : `tier ${sandbox} or stronger`}`]),
    ...list("network ", network),
    ...list("secrets ", secrets),
    ...list("images  ", images),
    ...(disk === undefined ? [] : [`disk     ${disk} MB`]),
  ];
}
