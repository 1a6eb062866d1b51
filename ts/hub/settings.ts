/** Settings of the hub: its address, the token, retries and deadlines, the cache. */
import { join } from "node:path";

import { cacheDir } from "../config/index.ts";

export interface HubSettings {
  /** Without a slash at its end. */
  readonly endpoint: string;
  readonly token: string | null;
  /** Use only the cache. */
  readonly offline: boolean;
  /** Folder of the cache. */
  readonly root: string;
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
  /** How long a branch's or tag's commit counts as known, so that all processes of a run see the same one. */
  readonly refMs: number;
}

/** HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, with the meaning that they have in Hugging Face's programs; the cache is below PRL_CACHE_DIR. */
export function hubSettings(env: Readonly<Record<string, string | undefined>> = process.env): HubSettings {
  return {
    endpoint: (env["HF_ENDPOINT"] || "https://huggingface.co").replace(/\/+$/u, ""),
    token: env["HF_TOKEN"] || null,
    offline: /^(1|true|yes|on)$/iu.test(env["HF_HUB_OFFLINE"] ?? ""),
    root: join(cacheDir(env), "hub"),
    attempts: 6,
    backoffMs: 500,
    longestWaitMs: 120_000,
    answerMs: 30_000,
    stallMs: 60_000,
    refMs: 3_600_000,
  };
}
