/**
 * Signatures of registries: a registry with keys (`/-/npm/v1/keys`) signs `name@version:integrity` of every package that it has. A signature that
 * holds says that the archive which npm checked is the one that the registry took in, also where a mirror served it.
 *
 * The form is that of npm's registry: ECDSA over P-256 with SHA-256, keys as SPKI. Not every registry has keys; one without them signs nothing, and
 * nothing is checked. Provenance (sigstore) is npm's own work: `npm audit signatures`.
 */
import { createPublicKey, verify } from "node:crypto";

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { proxiedFetch, proxiesOf } from "../../proxied-fetch.ts";
import type { FetchedPackage } from "./installed-tree.ts";
import { tokenFor } from "./npmrc.ts";

const TIMEOUT_MS = 30_000;
/** Packages that are asked for at a time. */
const AT_ONCE = 16;
/** Answers without keys: the registry has none. */
const NO_KEYS = [400, 404];

const keysSchema = z.object({
  keys: z.array(z.object({ keyid: z.string(), key: z.string(), expires: z.string().nullish() })),
});
type RegistryKey = z.infer<typeof keysSchema>["keys"][number];

const versionSchema = z.object({
  dist: z.object({
    signatures: z.array(z.object({ keyid: z.string(), sig: z.string() })).optional(),
    attestations: z.object({ url: z.string() }).optional(),
  }),
});
const timesSchema = z.object({ time: z.record(z.string(), z.string()) });

export interface SignatureCheck {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  /** Packages without a signature pass, also where their registry has keys. */
  readonly allowsUnsigned: boolean;
}

export interface SignatureReport {
  /** Packages whose signatures hold. */
  readonly signed: number;
  /** Packages without a signature: of registries without keys, or allowed. */
  readonly unsigned: number;
  /** Packages whose registry has a statement of provenance. */
  readonly attested: readonly string[];
}

/**
 * Checks the signatures of fetched packages.
 *
 * @throws PrlError `PRL_ENVIRONMENT_INTEGRITY` naming the package whose signature is wrong, or missing at a registry that signs;
 * `PRL_ENVIRONMENT_HUB` when a registry does not answer
 */
export async function checkSignatures(
  packages: readonly FetchedPackage[],
  check: SignatureCheck,
): Promise<SignatureReport> {
  const registries = new Map<string, FetchedPackage[]>();
  for (const one of packages) {
    const registry = registryOf(one);
    registries.set(registry, [...(registries.get(registry) ?? []), one]);
  }
  let [signed, unsigned] = [0, 0];
  const attested: string[] = [];
  for (const [registry, fetched] of registries) {
    const ask = await asker(registry, check);
    const keys = await keysOf(ask);
    if (keys === null) {
      unsigned += fetched.length;
      continue;
    }
    for (let at = 0; at < fetched.length; at += AT_ONCE) {
      const part = fetched.slice(at, at + AT_ONCE);
      for (const found of await Promise.all(part.map((one) => checkOne(one, keys, ask)))) {
        if (found.isSigned) signed += 1;
        else if (check.allowsUnsigned) unsigned += 1;
        else throw missing(found.id, registry);
        if (found.isAttested) attested.push(found.id);
      }
    }
  }
  return { signed, unsigned, attested };
}

/** The registry of an archive: its address is `<registry>/<name>/-/<file>`. */
function registryOf({ name, resolved }: FetchedPackage): string {
  const { origin, pathname } = new URL(resolved);
  const path = decodeURIComponent(pathname);
  const end = path.indexOf(`/${name}/-/`);
  return `${origin}${end === -1 ? "" : path.slice(0, end)}/`;
}

/** Asks a registry; null for an answer with one of the accepted statuses. */
type Ask = (path: string, accepted: readonly number[]) => Promise<unknown>;

async function asker(registry: string, { env, signal }: SignatureCheck): Promise<Ask> {
  const token = await tokenFor(registry, env);
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  return async (path, accepted) => {
    const deadline = AbortSignal.timeout(TIMEOUT_MS);
    const url = new URL(path, registry);
    try {
      const response = await proxiedFetch(proxiesOf(env), url, {
        headers,
        signal: signal === undefined ? deadline : AbortSignal.any([signal, deadline]),
      });
      if (accepted.includes(response.status)) return null;
      if (!response.ok) throw new Error(`status ${response.status}`);
      return await response.json();
    } catch (cause) {
      if (cause instanceof PrlError) throw cause;
      throw new PrlError("PRL_ENVIRONMENT_HUB", `${url.href} does not answer, so signatures cannot be checked`, {
        cause,
      });
    }
  };
}

async function keysOf(ask: Ask): Promise<readonly RegistryKey[] | null> {
  const answer = await ask("-/npm/v1/keys", NO_KEYS);
  const parsed = keysSchema.safeParse(answer);
  return parsed.success && parsed.data.keys.length > 0 ? parsed.data.keys : null;
}

interface Checked {
  readonly id: string;
  readonly isSigned: boolean;
  readonly isAttested: boolean;
}

async function checkOne(
  { name, version, integrity }: FetchedPackage,
  keys: readonly RegistryKey[],
  ask: Ask,
): Promise<Checked> {
  const id = `${name}@${version}`;
  const path = name.replace("/", "%2f");
  const parsed = versionSchema.safeParse(await ask(`${path}/${version}`, []));
  const dist = parsed.success ? parsed.data.dist : undefined;
  const signatures = dist?.signatures ?? [];
  for (const { keyid, sig } of signatures) {
    const key = keys.find((one) => one.keyid === keyid);
    if (key === undefined) throw wrong(id, `its registry has no key ${keyid}`);
    // The whole record, which has the times, is large; most keys do not expire.
    const ends = key.expires ?? null;
    if (ends !== null && !(timeOf(version, await ask(path, [])) < Date.parse(ends)))
      throw wrong(id, `the key ${keyid} has expired before the package was published`);
    if (!holds(`${id}:${integrity}`, sig, key)) throw wrong(id, "its signature is of other bytes");
  }
  return { id, isSigned: signatures.length > 0, isAttested: dist?.attestations !== undefined };
}

/** When a version was published; one without a time counts as published today. */
function timeOf(version: string, record: unknown): number {
  const parsed = timesSchema.safeParse(record);
  const time = parsed.success ? parsed.data.time[version] : undefined;
  return time === undefined ? Date.now() : Date.parse(time);
}

function holds(text: string, signature: string, { key }: RegistryKey): boolean {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, "base64"), format: "der", type: "spki" });
    return verify("sha256", Buffer.from(text), publicKey, Buffer.from(signature, "base64"));
  } catch {
    return false; // A key or a signature that cannot be read proves nothing.
  }
}

function wrong(id: string, why: string): PrlError {
  return new PrlError(
    "PRL_ENVIRONMENT_INTEGRITY",
    `${id}: ${why}: it may have been changed after it was published; do not use it, and ask who runs the hub`,
  );
}

function missing(id: string, registry: string): PrlError {
  return new PrlError(
    "PRL_ENVIRONMENT_INTEGRITY",
    `${id} has no signature, and ${registry} signs its packages; --unsigned accepts packages without one`,
  );
}
