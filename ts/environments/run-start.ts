/** Finds and checks environments for the start of a run, and samples on none. The exports are not public. */
export { type EnvironmentOrigin, isBuiltin, loadEnvironment, locateEnvironment } from "./model/load-environment.ts";
export { contentDigest } from "./packages/content-digest.ts";
export {
  describeInstalled,
  LOCK_FILE,
  type Locked,
  lockDifference,
  lockDocument,
  lockedIn,
  projectOf,
} from "./packages/environments-lock.ts";
export { checkSandboxes, daemonSettings, sandboxSource } from "./sandboxes/sandbox-config.ts";
export {
  checkCode,
  type CodeCheck,
  type EnvironmentBlock,
  type EnvironmentFacts,
  keyOf,
} from "./validation/check-code.ts";
