/** Makes sandboxes from `[sandbox]` of a config, and checks that environments get what they require. */
import { readFileSync } from "node:fs";

import type { SandboxConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { DaemonSettings } from "../../sandbox/index.ts";
import type { RunLimits } from "../../sandbox/index.ts";
import type { Environment } from "../model/environment.ts";
import { SandboxSource } from "./sandboxes.ts";

/** @param env where the token's variable is read. Errors: PRL_CONFIG_FILE for a certificate that cannot be read. */
export function sandboxSource(
  config: SandboxConfig,
  env: Readonly<Record<string, string | undefined>> = process.env,
): SandboxSource {
  const token = env[config.token_var];
  const { addresses, min_isolation: minIsolation } = config;
  return new SandboxSource({
    ...(addresses.length === 0 ? daemonSettings(config) : { addresses }),
    ...(addresses.length > 0 && token !== undefined && token !== "" ? { token } : {}),
    ...(config.ca === null ? {} : { tls: { ca: certificate(config.ca) } }),
    ...(minIsolation === null ? {} : { minIsolation }),
    limits: limitsOf(config.limits),
  });
}

function certificate(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `sandbox.ca: ${path} cannot be read`, { cause });
  }
}

/** Settings for our own daemon. */
export function daemonSettings({
  warm,
  max_running,
  max_held,
  images,
}: SandboxConfig): DaemonSettings & { images: SandboxConfig["images"] } {
  return {
    images,
    ...(Object.keys(warm).length === 0 ? {} : { warm }),
    ...(max_running === null ? {} : { maxRunning: max_running }),
    ...(max_held === null ? {} : { maxHeld: max_held }),
  };
}

function limitsOf(limits: SandboxConfig["limits"]): RunLimits {
  const named = {
    wallMs: limits.wall_ms,
    cpuMs: limits.cpu_ms,
    memoryBytes: limits.memory_bytes,
    processes: limits.processes,
    diskBytes: limits.disk_bytes,
  };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== null));
}

/**
 * Opens the sandboxes when one of the environments requires any. Rejects when that fails, naming the environment, with the code of what
 * is wrong: PRL_SANDBOX_MISSING, _START_FAILED, _UNREACHABLE, _AUTH, _ISOLATION and the like.
 */
export async function checkSandboxes(
  source: SandboxSource,
  environments: readonly Pick<Environment, "name" | "requires">[],
): Promise<void> {
  const needing = environments.find(({ requires }) => requires.sandbox !== undefined);
  if (needing === undefined) return;
  const fail = (code: PrlError["code"], problem: string, cause?: unknown): never => {
    const message = `environment "${needing.name}" needs sandboxes, and there are none: ${problem}; prl sandbox doctor says what is missing`;
    throw new PrlError(code, message, { cause });
  };
  try {
    const { isolation, facilities } = await (await source.pool()).capabilities();
    if (isolation !== null) return;
    const missing = facilities.filter(({ available }) => !available).map(({ name, detail }) => `${name}: ${detail}`);
    fail("PRL_SANDBOX_ISOLATION", missing.join("; "));
  } catch (error) {
    if (!(error instanceof PrlError) || error.message.includes("prl sandbox doctor")) throw error;
    fail(error.code, error.message, error);
  }
}
