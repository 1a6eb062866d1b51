/** The env worker, a process that runs environments. Nothing of it is public. */
export { type EnvWorkerConfig, readEnvWorkerConfig } from "./worker/config.ts";
export { type EnvWorker, startEnvWorker } from "./worker/server.ts";
