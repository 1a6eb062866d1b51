/**
 * The native sandbox client: starts daemons or connects to them. Users use `ts/sandbox`.
 *
 * Every promise of these handles settles: the Rust client has a deadline for each wait. Calls go through `native` and `nativeAsync`.
 */

import type { NativeSandboxConnect, NativeSandboxPool, NativeSandboxStart } from "#native";
import { addon } from "../addon.ts";
import { nativeAsync } from "../errors.ts";

export type {
  NativeBoxInfo,
  NativeBoxWatch,
  NativeCreateRequest,
  NativeEvaluation,
  NativeExecRequest,
  NativeFileInfo,
  NativeNetwork,
  NativeRunLimits,
  NativeRunRequest,
  NativeRunResult,
  NativeSandboxBox,
  NativeSandboxCapabilities,
  NativeSandboxHealth,
  NativeSandboxPool,
  NativeSandboxProcess,
  NativeStartRequest,
  NativeTestsRequest,
  NativeTestsResult,
} from "#native";

/** Starts a daemon that dies with this process. Errors: PRL_SANDBOX_START_FAILED, PRL_SANDBOX_START_TIMEOUT. */
export async function startSandboxPool(options: NativeSandboxStart): Promise<NativeSandboxPool> {
  const { NativeSandboxPool: Pool } = addon();
  return nativeAsync(() => Pool.start(options));
}

/** Connects to daemons that run already. Errors: PRL_SANDBOX_ADDRESS, PRL_SANDBOX_UNREACHABLE, PRL_SANDBOX_AUTH. */
export async function connectSandboxPool(options: NativeSandboxConnect): Promise<NativeSandboxPool> {
  const { NativeSandboxPool: Pool } = addon();
  return nativeAsync(async () => Pool.connect(options));
}
