/** Sandboxes: untrusted programs under limits, with a truthful cause for every end. Public as `prl/sandbox`. */

export { SandboxPool, type ConnectOptions, type StartOptions } from "./pool.ts";
export type { DaemonSettings } from "./daemon-arguments.ts";
export type { CodeOptions, CodeResult, CodeTest, CodeTestResult } from "./execute-code.ts";
export type {
  FileContent,
  Isolation,
  LimitName,
  RunCause,
  RunLimits,
  RunRequest,
  RunResult,
  RunTimings,
  RunUsage,
  SandboxCapabilities,
  SandboxHealth,
} from "./types.ts";
