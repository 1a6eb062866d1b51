/** The native sandbox client behind a handle: starts or reaches a daemon, and runs on it. `ts/sandbox` is what users see. */

import type {
  NativeRunRequest,
  NativeRunResult,
  NativeSandboxCapabilities,
  NativeSandboxHealth,
  NativeSandboxPool,
} from "#native";
import { addon } from "./addon.ts";
import { native, nativeAsync } from "./errors.ts";

export type { NativeRunRequest, NativeRunResult, NativeSandboxCapabilities, NativeSandboxHealth };

/** One daemon. Every promise settles: the Rust client has a deadline for each wait. */
export interface SandboxHandle {
  /** Of the embedded daemon; null when it was not started by this process. */
  readonly daemonPid: number | null;
  /** Bytes are copied before it returns. Rejects only for mistakes of the caller. */
  runOnce(request: NativeRunRequest): Promise<NativeRunResult>;
  /** Kills the run with this key; its promise then resolves. */
  cancel(key: string): void;
  capabilities(): Promise<NativeSandboxCapabilities>;
  health(): Promise<NativeSandboxHealth>;
  /** Kills what runs, and stops the embedded daemon. */
  close(): Promise<void>;
}

/** Starts a daemon that dies with this process. Errors: PRL_SANDBOX_START_FAILED, PRL_SANDBOX_START_TIMEOUT. */
export async function startSandboxPool(options: {
  binary: string;
  args: readonly string[];
  startTimeoutMs: number | null;
}): Promise<SandboxHandle> {
  const { NativeSandboxPool: Pool } = addon();
  return handleOf(await nativeAsync(() => Pool.start({ ...options, args: [...options.args] })));
}

/** Connects to a daemon that runs already. Errors: PRL_SANDBOX_ADDRESS, PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_AUTH. */
export async function connectSandboxPool(options: {
  address: string;
  token: string | null;
  connectTimeoutMs: number | null;
}): Promise<SandboxHandle> {
  const { NativeSandboxPool: Pool } = addon();
  return handleOf(await nativeAsync(() => Pool.connect(options)));
}

function handleOf(pool: NativeSandboxPool): SandboxHandle {
  return {
    daemonPid: pool.daemonPid(),
    runOnce: (request) => nativeAsync(() => pool.runOnce(request)),
    cancel: (key) => native(() => pool.cancel(key)),
    capabilities: () => nativeAsync(() => pool.capabilities()),
    health: () => nativeAsync(() => pool.health()),
    close: async () => {
      await nativeAsync(() => pool.close());
    },
  };
}
