/**
 * Runs untrusted programs, each in a sandbox of its own that never served another run. Public as `prl/sandbox`.
 *
 * However a run ends, its promise resolves to a result with a cause; only mistakes of the caller reject. A lost connection or a dead
 * daemon is INFRA, never success. A reply that was lost is fetched again by its key, which a daemon runs at most once.
 */

import { randomUUID } from "node:crypto";
import { PrlError } from "../errors.ts";
import { connectSandboxPool, sandboxDaemonPath, startSandboxPool, type SandboxHandle } from "../native/index.ts";
import { daemonArguments, type DaemonSettings } from "./daemon-arguments.ts";
import { type CodeOptions, type CodeResult, type CodeTest, executeCode } from "./execute-code.ts";
import { checkIsolation, toNativeRequest } from "./native-request.ts";
import { inOrder } from "./run-many.ts";
import { cancelledResult, toCapabilities, toRunResult } from "./run-result.ts";
import type { Isolation, RunRequest, RunResult, SandboxCapabilities, SandboxHealth } from "./types.ts";

/** Runs in flight of one `runMany`, when the caller does not say. */
const DEFAULT_CONCURRENCY = 64;
const ISOLATION_ORDER: readonly (Isolation | null)[] = [null, "process", "rootless", "full"];

export interface StartOptions extends DaemonSettings {
  /** Refuse to start (PRL_SANDBOX_ISOLATION) when this machine gives less. Default: whatever it gives; see `capabilities()`. */
  minIsolation?: Isolation;
  /** Longest wait until the daemon answers. Default 20000. */
  startTimeoutMs?: number;
}

export interface ConnectOptions {
  /** `unix:/path` or `host:port`. One for now: several are PRL_SANDBOX_UNSUPPORTED. */
  addresses: readonly string[];
  /** Bearer token; none is needed on a Unix socket. */
  token?: string;
  minIsolation?: Isolation;
  /** Longest wait for the connection. Default 5000. */
  connectTimeoutMs?: number;
}

export class SandboxPool {
  readonly #handle: SandboxHandle;
  readonly #minIsolation: Isolation | null;

  private constructor(handle: SandboxHandle, minIsolation: Isolation | undefined) {
    this.#handle = handle;
    this.#minIsolation = minIsolation ?? null;
  }

  /**
   * Starts a daemon of this process's own: it listens on a Unix socket that only this user can reach, and dies with this process.
   *
   * Errors: PRL_SANDBOX_MISSING, PRL_SANDBOX_START_FAILED, PRL_SANDBOX_START_TIMEOUT (both with the end of the daemon's log),
   * PRL_SANDBOX_ISOLATION.
   */
  static async start(options: StartOptions = {}): Promise<SandboxPool> {
    const { minIsolation, startTimeoutMs = null, ...settings } = options;
    const args = daemonArguments(settings);
    const handle = await startSandboxPool({ binary: sandboxDaemonPath(), args, startTimeoutMs });
    return SandboxPool.#of(handle, minIsolation);
  }

  /** Uses a daemon that runs already. Errors: PRL_SANDBOX_ADDRESS, PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_AUTH, PRL_SANDBOX_ISOLATION. */
  static async connect(options: ConnectOptions): Promise<SandboxPool> {
    const [address, ...others] = options.addresses;
    if (address === undefined) throw new PrlError("PRL_SANDBOX_ADDRESS", "addresses: expected the address of a daemon");
    if (others.length > 0) throw unsupported("a pool over several daemons");
    const { token = null, connectTimeoutMs = null } = options;
    return SandboxPool.#of(await connectSandboxPool({ address, token, connectTimeoutMs }), options.minIsolation);
  }

  /** Fails closed: a daemon that gives less than `minIsolation` is let go. */
  static async #of(handle: SandboxHandle, minIsolation: Isolation | undefined): Promise<SandboxPool> {
    const pool = new SandboxPool(handle, minIsolation);
    if (minIsolation === undefined) return pool;
    try {
      checkIsolation(minIsolation, "minIsolation");
      const { isolation, facilities } = await pool.capabilities();
      if (ISOLATION_ORDER.indexOf(isolation) < ISOLATION_ORDER.indexOf(minIsolation)) {
        const missing = facilities
          .filter(({ available }) => !available)
          .map(({ name, detail }) => `${name}: ${detail}`);
        const message = `the sandbox daemon gives isolation "${isolation ?? "none"}", less than "${minIsolation}"; missing: ${missing.join("; ")}`;
        throw new PrlError("PRL_SANDBOX_ISOLATION", message);
      }
      return pool;
    } catch (error) {
      await pool.close();
      throw error;
    }
  }

  /** Process id of the embedded daemon; null for one that was connected to. */
  get daemonPid(): number | null {
    return this.#handle.daemonPid;
  }

  /**
   * Runs one program in a fresh sandbox. Rejects only for mistakes of the caller: PRL_SANDBOX_REQUEST, PRL_SANDBOX_ISOLATION,
   * PRL_SANDBOX_AUTH, PRL_SANDBOX_CLOSED, PRL_SANDBOX_UNSUPPORTED.
   */
  async runOnce(request: RunRequest): Promise<RunResult> {
    const { signal, key = randomUUID() } = request;
    const native = toNativeRequest(request, key, this.#minIsolation);
    if (signal?.aborted === true) return cancelledResult();
    const running = this.#handle.runOnce(native);
    const abort = (): void => this.#handle.cancel(key);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return toRunResult(await running);
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Runs many programs over the one connection, `concurrency` (64) at a time; results are in the requests' order. All requests are
   * checked before the first one runs. Aborting `signal` cancels those that have not ended.
   */
  async runMany(
    requests: readonly RunRequest[],
    options: { concurrency?: number; signal?: AbortSignal } = {},
  ): Promise<RunResult[]> {
    const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw new PrlError("PRL_SANDBOX_REQUEST", `concurrency: expected a whole number from 1, got ${concurrency}`);
    }
    for (const request of requests) toNativeRequest(request, request.key ?? "unsent", this.#minIsolation);
    // One listener for all: a signal with a listener for each run would warn of a leak.
    const inFlight = new Set<string>();
    const abort = (): void => inFlight.forEach((key) => this.#handle.cancel(key));
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return await inOrder(requests, concurrency, async (request) => {
        if (signal?.aborted === true) return cancelledResult();
        const key = request.key ?? randomUUID();
        inFlight.add(key);
        try {
          return await this.runOnce({ ...request, key });
        } finally {
          inFlight.delete(key);
        }
      });
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  /**
   * Runs a program once per test, each in a sandbox of its own, and compares what it prints. Where the infrastructure failed, `passed`
   * is null: that is neither the program's success nor its failure.
   */
  async executeCode(code: string, tests: readonly CodeTest[], options: CodeOptions = {}): Promise<CodeResult> {
    return executeCode(
      (requests, { signal }) => this.runMany(requests, signal === undefined ? {} : { signal }),
      code,
      tests,
      options,
    );
  }

  /** What the daemon can enforce and observe. Errors: PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_CLOSED. */
  async capabilities(): Promise<SandboxCapabilities> {
    return toCapabilities(await this.#handle.capabilities());
  }

  /** Whether the daemon takes work, and how busy it is. Errors: PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_CLOSED. */
  async health(): Promise<SandboxHealth> {
    return this.#handle.health();
  }

  /** Kills what runs (CANCELLED) and stops an embedded daemon; resolves when it is gone. Later calls are PRL_SANDBOX_CLOSED. */
  async close(): Promise<void> {
    await this.#handle.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Not implemented yet: PRL_SANDBOX_UNSUPPORTED. */
  async create(): Promise<never> {
    throw unsupported("a held sandbox (create)");
  }

  /** Not implemented yet: PRL_SANDBOX_UNSUPPORTED. */
  async list(): Promise<never> {
    throw unsupported("a list of held sandboxes");
  }

  /** Not implemented yet: PRL_SANDBOX_UNSUPPORTED. */
  async runTests(): Promise<never> {
    throw unsupported("several tests in one sandbox (runTests); use executeCode or runMany");
  }
}

function unsupported(what: string): PrlError {
  return new PrlError("PRL_SANDBOX_UNSUPPORTED", `${what} is not implemented yet`);
}
