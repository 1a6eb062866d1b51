/** Sandboxes: untrusted programs under limits, with a truthful cause for every end. Public as `prl-lm/sandbox`. */

export { SandboxPool, type ConnectOptions, type StartOptions, type TlsOptions } from "./pool.ts";
export { Box } from "./box/box.ts";
export { BoxProcess, type WaitOptions } from "./box/box-process.ts";
export { FileWatch } from "./box/file-watch.ts";
export { Repl, type ReplResult, type ReplRunOptions } from "./box/repl.ts";
export { requireRun } from "./run-result.ts";
export type { DaemonSettings } from "./daemon-arguments.ts";
export type { CodeOptions, CodeResult, CodeTest, CodeTestResult } from "./execute-code.ts";
export type {
  BoxInfo,
  BoxProcessInfo,
  BoxRequest,
  ExecOptions,
  FileChange,
  FileInfo,
  OutputListener,
  ProcessChunk,
  PtySize,
  Snapshot,
  StartProcessOptions,
} from "./box/box-types.ts";
export type {
  DaemonHealth,
  FileContent,
  Files,
  Isolation,
  LimitName,
  Forward,
  Network,
  ProgramOptions,
  RunCause,
  RunLimits,
  RunRequest,
  RunResult,
  RunTimings,
  RunUsage,
  RuntimeName,
  SandboxCapabilities,
  SandboxHealth,
  TestsRequest,
  TestsResult,
} from "./types.ts";
