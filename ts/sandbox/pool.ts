/**
 * Runs untrusted programs, each in a new sandbox that never served another run, and holds sandboxes. Public as `prl-lm/sandbox`.
 *
 * However a run ends, its promise resolves to a result with a cause; only mistakes of the caller reject. A lost connection or a dead
 * daemon is INFRA, never success. A lost reply is fetched again by its key, which a daemon runs at most once.
 */

import { randomUUID } from "node:crypto";
import { onAbort } from "../async/aborted.ts";
import { PrlError } from "../errors.ts";
import {
  connectSandboxPool,
  nativeAsync,
  native,
  type NativeSandboxPool,
  sandboxDaemonPath,
  startSandboxPool,
} from "../native/index.ts";
import { unlessAborted } from "./abandon.ts";
import { Box, toBoxInfo } from "./box/box.ts";
import type { BoxInfo, BoxRequest, Snapshot } from "./box/box-types.ts";
import { daemonArguments, type DaemonSettings } from "./daemon-arguments.ts";
import { ISOLATION_ORDER, mergedCapabilities, mergedHealth } from "./daemons.ts";
import { type CodeOptions, type CodeResult, type CodeTest, executeCode } from "./execute-code.ts";
import { toNativeCreate } from "./box/native-box-request.ts";
import { toNativeRequest, toNativeTests } from "./native-request.ts";
import { checkIsolation, knownKeys, strings, wrong } from "./request-checks.ts";
import { inOrder } from "./run-many.ts";
import { cancelledResult, toRunResult, toTestsResult } from "./run-result.ts";
import type {
  Isolation,
  RunRequest,
  RunResult,
  SandboxCapabilities,
  SandboxHealth,
  TestsRequest,
  TestsResult,
} from "./types.ts";

/** Runs in flight of one `runMany`, when the caller does not say. */
const DEFAULT_CONCURRENCY = 64;

export interface StartOptions extends DaemonSettings {
  /** Refuse to start (PRL_SANDBOX_ISOLATION) when this machine offers less. Default: accept any; see `capabilities()`. */
  minIsolation?: Isolation;
  /** Longest wait until the daemon answers. Default 20000. */
  startTimeoutMs?: number;
}

/** Certificates of connections on TCP, as PEM. */
export interface TlsOptions {
  /** Certificate of the authority that signed the daemons' certificates. */
  ca: string;
  /** Our certificate and its key, where daemons ask for one. */
  certificate?: string;
  key?: string;
  /** The name in the daemons' certificates. Default: the host of the address. */
  serverName?: string;
}

export interface ConnectOptions {
  /**
   * Daemons: `unix:/path`, `host:port`, `https://host:port`, or `dns:name:port` for every address that a name has, looked up again every
   * few seconds. New work goes to the less busy of two drawn at random; one that fails gets none until it answers again.
   */
  addresses: readonly string[];
  /** Bearer token; none is needed on a Unix socket. */
  token?: string;
  /** Encrypts every connection on TCP. */
  tls?: TlsOptions;
  minIsolation?: Isolation;
  /** Longest wait for the first connection. Default 5000. */
  connectTimeoutMs?: number;
}

const CONNECT: Readonly<Record<keyof ConnectOptions, true>> = {
  addresses: true,
  token: true,
  tls: true,
  minIsolation: true,
  connectTimeoutMs: true,
};
const TLS: Readonly<Record<keyof TlsOptions, true>> = { ca: true, certificate: true, key: true, serverName: true };

type Labels = Readonly<Record<string, string>>;

export class SandboxPool {
  readonly #handle: NativeSandboxPool;
  readonly #minIsolation: Isolation | null;

  private constructor(handle: NativeSandboxPool, minIsolation: Isolation | undefined) {
    this.#handle = handle;
    this.#minIsolation = minIsolation ?? null;
  }

  /**
   * Starts a daemon for this process: it listens on a Unix socket that only this user can reach, and dies with this process. When it
   * ends by itself, the next call starts another one; its boxes and results are lost.
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

  /**
   * Uses daemons that run already; at least one must answer. Errors: PRL_SANDBOX_ADDRESS, PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_AUTH,
   * PRL_SANDBOX_ISOLATION.
   */
  static async connect(options: ConnectOptions): Promise<SandboxPool> {
    knownKeys(options, CONNECT, "");
    knownKeys(options.tls ?? {}, TLS, "tls.");
    const { addresses, token = null, tls, connectTimeoutMs = null, minIsolation } = options;
    if (tls !== undefined && (tls.certificate === undefined) !== (tls.key === undefined)) {
      throw new PrlError("PRL_SANDBOX_REQUEST", "tls: a certificate needs its key, and a key its certificate");
    }
    const handle = await connectSandboxPool({
      addresses: [...addresses],
      token,
      tls:
        tls === undefined
          ? null
          : {
              ca: tls.ca,
              certificate: tls.certificate ?? null,
              key: tls.key ?? null,
              serverName: tls.serverName ?? null,
            },
      connectTimeoutMs,
    });
    return SandboxPool.#of(handle, minIsolation);
  }

  /** Fails closed: the pool is closed when daemons offer less than `minIsolation`. */
  static async #of(handle: NativeSandboxPool, minIsolation: Isolation | undefined): Promise<SandboxPool> {
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

  /** Process id of the embedded daemon, of the latest when it was started again; null for those that were connected to. */
  get daemonPid(): number | null {
    return native(() => this.#handle.daemonPid());
  }

  /**
   * Runs one program in a fresh sandbox. Rejects only for mistakes of the caller: PRL_SANDBOX_REQUEST, PRL_SANDBOX_ISOLATION,
   * PRL_SANDBOX_AUTH, PRL_SANDBOX_CLOSED, PRL_SANDBOX_UNSUPPORTED.
   */
  async runOnce(request: RunRequest): Promise<RunResult> {
    const { signal, key = randomUUID() } = request;
    const checked = toNativeRequest(request, key, this.#minIsolation);
    if (signal?.aborted === true) return cancelledResult();
    const running = nativeAsync(() => this.#handle.runOnce(checked));
    const release = onAbort(signal, () => this.#handle.cancel(key));
    try {
      return toRunResult(await running);
    } finally {
      release();
    }
  }

  /**
   * Runs one program against many cases in one sandbox: an optional build, then a new process for each case on a clean writable layer
   * over the files and the result of the build. Rejects as `runOnce` does.
   */
  async runTests(request: TestsRequest): Promise<TestsResult> {
    const { signal, key: cancel = randomUUID() } = request;
    const checked = toNativeTests(request, cancel, this.#minIsolation);
    if (signal?.aborted === true) return { build: null, results: checked.cases.map(() => cancelledResult()) };
    const running = nativeAsync(() => this.#handle.runTests(checked));
    const release = onAbort(signal, () => this.#handle.cancel(cancel));
    try {
      return toTestsResult(await running);
    } finally {
      release();
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
    knownKeys(options, { concurrency: true, signal: true }, "");
    const { concurrency = DEFAULT_CONCURRENCY, signal } = options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1) {
      throw new PrlError("PRL_SANDBOX_REQUEST", `concurrency: expected a whole number from 1, got ${concurrency}`);
    }
    for (const request of requests) toNativeRequest(request, request.key ?? "unsent", this.#minIsolation);
    // One listener for all: a signal with a listener for each run would warn of a leak.
    const inFlight = new Set<string>();
    const release = onAbort(signal, () => inFlight.forEach((key) => this.#handle.cancel(key)));
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
      release();
    }
  }

  /**
   * Runs a program once per test, all in one sandbox, and compares what it prints. Where the infrastructure failed, `passed` is null:
   * that is neither the program's success nor its failure.
   */
  async executeCode(code: string, tests: readonly CodeTest[], options: CodeOptions = {}): Promise<CodeResult> {
    return executeCode(async (request) => this.runTests(request), code, tests, options);
  }

  // ---- held sandboxes ----

  /**
   * Makes a sandbox that keeps files and processes until it is closed. Rejects when that is not possible: PRL_SANDBOX_OVERLOADED,
   * PRL_SANDBOX_DRAINING, PRL_SANDBOX_CONNECTION_LOST, PRL_SANDBOX_SETUP; and for mistakes as `runOnce` does.
   */
  async create(request: BoxRequest = {}): Promise<Box> {
    const { signal } = request;
    signal?.throwIfAborted();
    const checked = toNativeCreate(request, request.id ?? randomUUID(), this.#minIsolation);
    const making = nativeAsync(() => this.#handle.create(checked));
    const made = making.then((held) => new Box(this.#handle, held, request.limits ?? {}));
    return unlessAborted(made, signal, async (box) => box.close());
  }

  /** An existing box, also of another process; this pool renews its lease from now on. PRL_SANDBOX_BOX_UNKNOWN. */
  async open(id: string): Promise<Box> {
    return new Box(this.#handle, await nativeAsync(() => this.#handle.open(id)), null);
  }

  /** Boxes with all of these labels, also of other processes with the same token. */
  async list(options: { labels?: Labels } = {}): Promise<BoxInfo[]> {
    knownKeys(options, { labels: true }, "");
    const labels = strings(options.labels, "labels");
    return (await nativeAsync(() => this.#handle.list(labels))).map(toBoxInfo);
  }

  /** Closes every box with all of these labels, also of other processes with the same token; returns their ids. */
  async closeAll(options: { labels: Labels }): Promise<string[]> {
    knownKeys(options, { labels: true }, "");
    const labels = strings(options.labels, "labels");
    if (Object.keys(labels).length === 0) throw wrong("labels", "expected at least one: closing all takes a label");
    return nativeAsync(() => this.#handle.closeAll(labels));
  }

  /** Snapshots with all of these labels. */
  async snapshots(options: { labels?: Labels } = {}): Promise<Snapshot[]> {
    knownKeys(options, { labels: true }, "");
    const labels = strings(options.labels, "labels");
    const found = await nativeAsync(() => this.#handle.snapshots(labels));
    return found.map(({ createdAt, ...rest }) => ({ ...rest, createdAt: new Date(createdAt) }));
  }

  /** Deletes a snapshot; boxes that began with it do not change. PRL_SANDBOX_UNKNOWN. */
  async deleteSnapshot(snapshot: Snapshot | string): Promise<void> {
    const id = typeof snapshot === "string" ? snapshot : snapshot.id;
    await nativeAsync(() => this.#handle.deleteSnapshot(id));
  }

  // ---- the daemons ----

  /** The limits and causes that the daemons can enforce and observe. Errors: PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_CLOSED. */
  async capabilities(): Promise<SandboxCapabilities> {
    return mergedCapabilities(await nativeAsync(() => this.#handle.capabilities()));
  }

  /** Whether the daemons take work, and how busy they are. Errors: PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_CLOSED. */
  async health(): Promise<SandboxHealth> {
    return mergedHealth(await nativeAsync(() => this.#handle.health()));
  }

  /**
   * Kills running programs (CANCELLED), closes the boxes that were made or opened here and stops an embedded daemon; resolves when it
   * is gone. Later calls are PRL_SANDBOX_CLOSED.
   */
  async close(): Promise<void> {
    await nativeAsync(() => this.#handle.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
