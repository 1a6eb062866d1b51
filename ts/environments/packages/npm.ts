/**
 * Runs npm, which comes with Node, as a child process: it resolves, downloads, checks and publishes packages. No script of a package runs.
 *
 * npm reads its own settings (`.npmrc`: registries of scopes, tokens, proxies). This file knows npm's command line and error codes only.
 */
import { spawn } from "node:child_process";

import { onAbort } from "../../async/aborted.ts";
import { type ErrorCode, PrlError } from "../../errors.ts";

const DEFAULT_TIMEOUT_MS = 600_000;
/** From the request to end until the process is ended by force. */
const GRACE_MS = 10_000;
const MOST_OUTPUT = 64 * 2 ** 20;
/** The end of npm's messages is kept for the code in it. */
const KEPT_MESSAGES = 20_000;
const ALWAYS = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"];

export interface NpmOptions {
  /** The folder that npm works in. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | undefined;
  /** Address of the hub; absent: the one of npm's settings. */
  readonly registry?: string | undefined;
  /** Receives npm's messages. */
  readonly onMessage?: ((text: string) => void) | undefined;
}

/** The meaning of npm's codes here. */
const CODES: Readonly<Record<string, { code: ErrorCode; advice: string }>> = {
  EINTEGRITY: {
    code: "PRL_ENVIRONMENT_INTEGRITY",
    advice:
      "EINTEGRITY: an archive was changed after it was published or locked; do not use it, and ask who runs the hub",
  },
  ENEEDAUTH: { code: "PRL_ENVIRONMENT_HUB", advice: "the hub wants a token: prl env login --registry <address>" },
  E401: { code: "PRL_ENVIRONMENT_HUB", advice: "the hub refuses the token: prl env login --registry <address>" },
  E403: { code: "PRL_ENVIRONMENT_HUB", advice: "the hub refuses it: the token has no right to do this" },
  E404: { code: "PRL_ENVIRONMENT_UNKNOWN", advice: "the hub has no such package or version" },
  ETARGET: { code: "PRL_ENVIRONMENT_UNKNOWN", advice: "the hub has no such version" },
  E409: { code: "PRL_ENVIRONMENT_HUB", advice: "the hub has this version already: raise it in package.json" },
  EPUBLISHCONFLICT: {
    code: "PRL_ENVIRONMENT_HUB",
    advice: "the hub has this version already: raise it in package.json",
  },
};

/**
 * Runs `npm <args>` and returns what it wrote to standard output. `accepted`: exit codes that are no failure.
 *
 * @throws PrlError `PRL_ENVIRONMENT_INTEGRITY`, `PRL_ENVIRONMENT_HUB`, `PRL_ENVIRONMENT_UNKNOWN` by npm's code, else
 * `PRL_ENVIRONMENT_INSTALL`; `PRL_RUN_INTERRUPTED`
 */
export async function npm(
  args: readonly string[],
  options: NpmOptions,
  accepted: readonly number[] = [0],
): Promise<string> {
  const { timeoutMs = DEFAULT_TIMEOUT_MS } = options;
  const end = await ended([...args, ...ALWAYS], options, timeoutMs);
  if (end.code !== null && accepted.includes(end.code)) return end.stdout;
  const command = `npm ${args.join(" ")}`;
  if (options.signal?.aborted === true) throw new PrlError("PRL_RUN_INTERRUPTED", `${command} was interrupted`);
  if (end.code === null)
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", `${command} was ended after ${timeoutMs / 1000} s (--timeout-s)`);
  const isThere = end.messages.includes("cannot publish over the previously published versions");
  const name = isThere ? "EPUBLISHCONFLICT" : (/^npm error code (\S+)/mu.exec(end.messages)?.[1] ?? "");
  const known = CODES[name];
  if (known !== undefined) throw new PrlError(known.code, `${command}: ${known.advice}`);
  throw new PrlError("PRL_ENVIRONMENT_INSTALL", `${command} exited with ${end.code}; its output is above`);
}

/** The same, for commands that print JSON. Errors: also PRL_ENVIRONMENT_INSTALL for other text. */
export async function npmJson(
  args: readonly string[],
  options: NpmOptions,
  accepted: readonly number[] = [0],
): Promise<unknown> {
  const text = await npm([...args, "--json"], options, accepted);
  try {
    return text.trim() === "" ? null : JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_ENVIRONMENT_INSTALL", `npm ${args.join(" ")} printed no JSON`, { cause });
  }
}

/** Arguments that make npm ask this hub: for packages of one owner only, so that what they depend on may come from elsewhere. */
export function registryArguments(registry: string | undefined, packageName: string): string[] {
  if (registry === undefined) return [];
  const [, scope] = /^(@[^/]+)\//u.exec(packageName) ?? [];
  return [scope === undefined ? `--registry=${registry}` : `--${scope}:registry=${registry}`];
}

interface NpmEnd {
  readonly code: number | null;
  readonly stdout: string;
  readonly messages: string;
}

function ended(
  args: readonly string[],
  { cwd, env, signal, onMessage }: NpmOptions,
  timeoutMs: number,
): Promise<NpmEnd> {
  return new Promise((done, fail) => {
    const child = spawn("npm", args, { cwd, env: { ...env }, stdio: ["ignore", "pipe", "pipe"] });
    let [stdout, messages] = ["", ""];
    let force: NodeJS.Timeout | undefined;
    const stop = (): void => {
      child.kill("SIGTERM");
      force ??= setTimeout(() => child.kill("SIGKILL"), GRACE_MS);
    };
    const timer = setTimeout(stop, timeoutMs);
    const release = onAbort(signal, stop);
    const settle = (): void => {
      clearTimeout(timer);
      clearTimeout(force);
      release();
    };
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      stdout += text;
      if (stdout.length > MOST_OUTPUT) stop();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      messages = (messages + text).slice(-KEPT_MESSAGES);
      onMessage?.(text);
    });
    child.once("error", (cause) => {
      settle();
      fail(new PrlError("PRL_ENVIRONMENT_INSTALL", "npm could not be started; it comes with Node", { cause }));
    });
    child.once("close", (code) => {
      settle();
      done({ code, stdout, messages });
    });
  });
}
