/** Settings of the hub: its address, the token, retries and deadlines, the caches. */
import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";

import { cacheDir, type Environment } from "../config/index.ts";
import { messageOf, PrlError } from "../errors.ts";
import { isMissing } from "../files/file-presence.ts";
import { type Proxies, proxiesOf } from "../proxied-fetch.ts";

/** Kinds of repositories that prl reads. */
export type RepositoryKind = "dataset" | "model";

export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | null;
  readonly proxies: Proxies;
  /** Use only the cache. */
  readonly offline: boolean;
  /** Folder of the cache of each kind. */
  readonly caches: Readonly<Record<RepositoryKind, string>>;
  /** Failures in a row after which a request is given up; bytes that arrive begin a new row. */
  readonly attempts: number;
  /** Wait after the first failure, doubled after each and shortened at random by up to a half. */
  readonly backoffMs: number;
  /** Longest wait that an answer may ask for with Retry-After. */
  readonly longestWaitMs: number;
  /** Until an answer begins. */
  readonly answerMs: number;
  /** Between two pieces of a body. */
  readonly stallMs: number;
  /** How long a dataset's branch or tag counts as known, so that all processes of a run see the same commit. */
  readonly refMs: number;
}

/**
 * HF_ENDPOINT, HF_TOKEN, HF_TOKEN_PATH, HF_HUB_OFFLINE, HF_HOME and HF_HUB_CACHE have the meaning that they have in Hugging Face's programs.
 * Models lie in the cache of those programs, so that each finds what another has downloaded. Datasets lie below PRL_CACHE_DIR. HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and
 * NO_PROXY count as everywhere.
 *
 * Errors: PRL_IO when the file with the token is there and cannot be read.
 */
export function hubSettings(env: Environment = process.env): HubSettings {
  const home = hubHome(env);
  return {
    endpoint: (env["HF_ENDPOINT"] || "https://huggingface.co").replace(/\/+$/u, ""),
    token: env["HF_TOKEN"]?.trim() || storedToken(pathOf(env, "HF_TOKEN_PATH") ?? join(home, "token")),
    proxies: proxiesOf(env),
    offline: /^(1|true|yes|on)$/iu.test(env["HF_HUB_OFFLINE"] ?? ""),
    caches: {
      dataset: join(cacheDir(env), "hub"),
      model: pathOf(env, "HF_HUB_CACHE") ?? pathOf(env, "HUGGINGFACE_HUB_CACHE") ?? join(home, "hub"),
    },
    attempts: 6,
    backoffMs: 500,
    longestWaitMs: 120_000,
    answerMs: 30_000,
    stallMs: 60_000,
    refMs: 3_600_000,
  };
}

/** Folder of Hugging Face's programs. */
function hubHome(env: Environment): string {
  const named = pathOf(env, "HF_HOME");
  if (named !== null) return named;
  return join(pathOf(env, "XDG_CACHE_HOME") ?? join(homedir(), ".cache"), "huggingface");
}

/** The absolute path in a variable, with `~` and variables expanded as Hugging Face's programs do; null: it is not set. */
function pathOf(env: Environment, name: string): string | null {
  const text = env[name];
  if (text === undefined || text === "") return null;
  const withHome = text.replace(/^~(?=\/|$)/u, homedir());
  return resolve(
    withHome.replaceAll(/\$(?:(\w+)|\{(\w+)\})/gu, (whole, a?: string, b?: string) => env[a ?? b ?? ""] ?? whole),
  );
}

/** The token that `hf auth login` left. */
function storedToken(path: string): string | null {
  try {
    return readFileSync(path, "utf8").trim() || null;
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError(
      "PRL_IO",
      `the file with the hub's token cannot be read (${messageOf(cause)}): mend it, or set HF_TOKEN`,
      {
        cause,
      },
    );
  }
}
