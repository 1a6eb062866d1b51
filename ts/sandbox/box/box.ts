/**
 * A box is a held sandbox: files and processes stay from one exec to the next.
 *
 * Its lease is renewed as long as the pool is open; it ends with `close`, with its lifetime, or with its lease when this process is gone.
 * An exec in a box that has ended is INFRA `box_ended` or `daemon_restarted`; everything else rejects: PRL_SANDBOX_BOX_ENDED,
 * PRL_SANDBOX_DAEMON_RESTARTED, PRL_SANDBOX_CONNECTION_LOST, and PRL_SANDBOX_CLOSED after `close`.
 */

import { randomUUID } from "node:crypto";
import { onAbort } from "../../async/aborted.ts";
import {
  native,
  nativeAsync,
  type NativeBoxInfo,
  type NativeFileInfo,
  type NativeSandboxBox,
  type NativeSandboxPool,
} from "../../native/index.ts";
import { BoxProcess, KEPT_BYTES } from "./box-process.ts";
import type { BoxInfo, BoxProcessInfo, ExecOptions, FileInfo, Snapshot, StartProcessOptions } from "./box-types.ts";
import { FileWatch } from "./file-watch.ts";
import { toNativeExec, toNativeStart } from "./native-box-request.ts";
import { Repl } from "./repl.ts";
import { bytesOf, count, knownKeys, modeOf, optionalCount, port as checkedPort, strings } from "../request-checks.ts";
import { cancelledResult, isolationOf, toRunResult } from "../run-result.ts";
import type { FileContent, RunLimits, RunResult } from "../types.ts";

/** Limit for a directory that is copied out of a box. */
const DOWNLOAD_BYTES = 1 << 30;
/** The daemon's default limit of wall time, and of CPU time, of an exec. */
const EXEC_MS = 10_000;

export class Box {
  readonly #pool: NativeSandboxPool;
  readonly #box: NativeSandboxBox;
  readonly #info: BoxInfo;
  readonly #limits: RunLimits | null;
  readonly #ports = new Map<number, ReturnType<NativeSandboxBox["forwardPort"]>>();

  /** @internal @param limits what it was made with; null: only its daemon knows them. */
  constructor(pool: NativeSandboxPool, box: NativeSandboxBox, limits: RunLimits | null) {
    this.#pool = pool;
    this.#box = box;
    this.#limits = limits;
    this.#info = toBoxInfo(box.info());
  }

  get id(): string {
    return this.#info.id;
  }

  /** Its state when it was made or found. */
  get info(): BoxInfo {
    return this.#info;
  }

  // ---- commands ----

  /**
   * Runs a command to its end; processes that it leaves behind go on. Without listeners it is one round trip. Rejects only for mistakes
   * of the caller, and when a listener does: the command is killed then. With listeners in a box that was opened by its id, only limits
   * that are named here hold for its time.
   */
  async exec(command: readonly string[], options: ExecOptions = {}): Promise<RunResult> {
    const { signal, key = randomUUID(), onStdout, onStderr } = options;
    const request = toNativeExec(command, options, key);
    if (signal?.aborted === true) return cancelledResult();
    if (onStdout !== undefined || onStderr !== undefined) return this.#followed(request, options);
    const running = nativeAsync(() => this.#box.exec(request));
    const release = onAbort(signal, () => this.#pool.cancel(key));
    try {
      return toRunResult(await running);
    } finally {
      release();
    }
  }

  async #followed(exec: ReturnType<typeof toNativeExec>, options: ExecOptions): Promise<RunResult> {
    const { onStdout, onStderr, signal, limits } = options;
    // A started process has only the limits that it is started with.
    const ofBox = this.#limits === null ? null : { wallMs: EXEC_MS, cpuMs: EXEC_MS, ...this.#limits };
    const time = {
      wallMs: exec.limits.wallMs ?? ofBox?.wallMs ?? null,
      cpuMs: exec.limits.cpuMs ?? ofBox?.cpuMs ?? null,
    };
    const limited = { ...exec, limits: { ...exec.limits, ...time } };
    const start = { exec: limited, process: exec.key, pty: null, keepStdin: false, lossless: true, repl: "" };
    const process = new BoxProcess(await nativeAsync(() => this.#box.start(start)));
    try {
      return await process.wait({
        outputBytes: limits?.outputBytes ?? KEPT_BYTES,
        ...(onStdout === undefined ? {} : { onStdout }),
        ...(onStderr === undefined ? {} : { onStderr }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (error) {
      await process.kill().catch(() => undefined);
      throw error;
    }
  }

  /** Starts a process that goes on by itself: `wait`, `output`, `write`, `signal`. */
  async start(command: readonly string[], options: StartProcessOptions = {}): Promise<BoxProcess> {
    const request = toNativeStart(command, options, options.id ?? randomUUID(), randomUUID());
    return new BoxProcess(await nativeAsync(() => this.#box.start(request)));
  }

  /** A process that was started here, by its id; the first call shows whether it exists. */
  attach(id: string): BoxProcess {
    return new BoxProcess(native(() => this.#box.process(id)));
  }

  /** Every process that was started here and is still known. */
  async processes(): Promise<BoxProcessInfo[]> {
    return nativeAsync(() => this.#box.processes());
  }

  /** Starts an interpreter that keeps its state. Errors: PRL_SANDBOX_UNSUPPORTED where it is missing. */
  async repl(
    language: "python" | "node" = "python",
    options: Pick<StartProcessOptions, "env" | "cwd" | "user"> = {},
  ): Promise<Repl> {
    const request = toNativeStart([language], options, randomUUID(), randomUUID());
    const start = { ...request, exec: { ...request.exec, command: [] }, keepStdin: false, repl: language };
    return new Repl(this.#pool, await nativeAsync(() => this.#box.start(start)));
  }

  // ---- files: paths are absolute or relative to the work directory; operations have the rights of the sandbox's user ----

  /** Writes a file, whole or not at all; directories above it are made. Permission bits `mode` (0o644). */
  async write(path: string, content: FileContent, options: { mode?: number } = {}): Promise<FileInfo> {
    knownKeys(options, { mode: true }, "");
    const bytes = bytesOf(content, "content");
    const mode = modeOf(options.mode, "mode");
    return toFileInfo(await nativeAsync(() => this.#box.write(path, bytes, mode)));
  }

  /** Reads a file. More than `maxBytes` (64 MiB) is PRL_SANDBOX_TOO_LARGE; none at all PRL_SANDBOX_FILE_UNKNOWN. */
  async read(path: string, options: { maxBytes?: number; offset?: number } = {}): Promise<Buffer> {
    knownKeys(options, { maxBytes: true, offset: true }, "");
    const offset = count(options.offset ?? 0, "offset", 0);
    const maxBytes = optionalCount(options.maxBytes, "maxBytes", 0);
    return nativeAsync(() => this.#box.read(path, offset, maxBytes));
  }

  /** Describes what a path names; a link is not followed. Errors: PRL_SANDBOX_FILE_UNKNOWN. */
  async stat(path: string): Promise<FileInfo> {
    return toFileInfo(await nativeAsync(() => this.#box.stat(path)));
  }

  /** A directory's entries, `depth` (1) levels deep, at most `maxEntries` (10000): then `truncated`. */
  async list(
    path = ".",
    options: { depth?: number; maxEntries?: number } = {},
  ): Promise<{ entries: FileInfo[]; truncated: boolean }> {
    knownKeys(options, { depth: true, maxEntries: true }, "");
    const depth = count(options.depth ?? 1, "depth", 1);
    const maxEntries = optionalCount(options.maxEntries, "maxEntries", 1);
    const { entries, truncated } = await nativeAsync(() => this.#box.listDirectory(path, depth, maxEntries));
    return { entries: entries.map(toFileInfo), truncated };
  }

  /** Makes a directory and those above it; an existing one is not an error. */
  async mkdir(path: string): Promise<FileInfo> {
    return toFileInfo(await nativeAsync(() => this.#box.makeDirectory(path)));
  }

  async move(from: string, to: string): Promise<FileInfo> {
    return toFileInfo(await nativeAsync(() => this.#box.rename(from, to)));
  }

  /** Removes a file, a link or an empty directory; with `recursive` any directory. */
  async remove(path: string, options: { recursive?: boolean } = {}): Promise<void> {
    knownKeys(options, { recursive: true }, "");
    await nativeAsync(() => this.#box.remove(path, options.recursive ?? false));
  }

  /** Watches a directory, and with `recursive` those below. When it resolves, every later change is reported, or counted in an overflow. */
  async watch(path: string, options: { recursive?: boolean } = {}): Promise<FileWatch> {
    knownKeys(options, { recursive: true }, "");
    return new FileWatch(await nativeAsync(() => this.#box.watch(path, options.recursive ?? false)));
  }

  /** Copies a directory of this machine into one of the box, made when missing; links are copied as links. */
  async uploadDirectory(from: string, to = "."): Promise<{ entries: number; bytes: number }> {
    return nativeAsync(() => this.#box.uploadDirectory(from, to));
  }

  /**
   * Copies a directory of the box into a new one of this machine. Entries that could reach outside of it, such as links that go up, are
   * left out and listed. More than `maxBytes` (1 GiB) is PRL_SANDBOX_TOO_LARGE; an existing target is PRL_SANDBOX_LOCAL_FILE.
   */
  async downloadDirectory(
    from: string,
    to: string,
    options: { maxBytes?: number } = {},
  ): Promise<{ entries: number; bytes: number; leftOut: string[] }> {
    knownKeys(options, { maxBytes: true }, "");
    const maxBytes = count(options.maxBytes ?? DOWNLOAD_BYTES, "maxBytes", 0);
    return nativeAsync(() => this.#box.downloadDirectory(from, to, maxBytes));
  }

  // ---- the box ----

  /** Keeps a copy of its files, to begin other boxes with (`from`); processes are not part of it. */
  async snapshot(options: { id?: string; labels?: Readonly<Record<string, string>> } = {}): Promise<Snapshot> {
    knownKeys(options, { id: true, labels: true }, "");
    const labels = strings(options.labels, "labels");
    const { createdAt, ...rest } = await nativeAsync(() => this.#box.snapshot(options.id ?? randomUUID(), labels));
    return { ...rest, createdAt: new Date(createdAt) };
  }

  /**
   * An address of this machine that reaches a port of the box's own loopback, until the box is closed. Every program that can open
   * connections on this machine can use it. A connection to a port without a listener is reset.
   */
  url(port: number): string {
    const number = checkedPort(port, "port");
    const forward = this.#ports.get(number) ?? native(() => this.#box.forwardPort(number));
    this.#ports.set(number, forward);
    return `http://127.0.0.1:${forward.port}`;
  }

  /** The box ends after this time in any case; null: never. */
  async setTimeout(ttlMs: number | null): Promise<void> {
    const lifetime = ttlMs === null ? null : count(ttlMs, "ttlMs", 1);
    await nativeAsync(() => this.#box.setLifetime(lifetime));
  }

  /** Kills everything in it and frees it. Closing it again, or closing a box that is gone, is not an error. */
  async close(): Promise<void> {
    for (const forward of this.#ports.values()) forward.close();
    this.#ports.clear();
    await nativeAsync(() => this.#box.close());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export function toBoxInfo(info: NativeBoxInfo): BoxInfo {
  return {
    id: info.id,
    labels: info.labels,
    createdAt: new Date(info.createdAt),
    leaseMs: info.leaseMs,
    remainingMs: info.remainingMs ?? null,
    isolation: isolationOf(info.isolation),
    profile: info.runtime === "" ? null : info.runtime,
  };
}

function toFileInfo(info: NativeFileInfo): FileInfo {
  return {
    path: info.path,
    kind: info.kind as FileInfo["kind"],
    bytes: info.bytes,
    mode: info.mode,
    modifiedAt: new Date(info.modifiedAt),
    linkTarget: info.linkTarget === "" ? null : info.linkTarget,
  };
}
