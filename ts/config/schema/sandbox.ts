/** `[sandbox]`: the sandboxes of environments that run programs. */
import { z } from "zod";
import { automatic, filePath } from "./fields.ts";

const limit = (text: string) => automatic(`${text}; unset: the daemon's default`);

export const sandboxBlock = z
  .strictObject({
    addresses: z
      .array(z.string().min(1))
      .default([])
      .describe(
        "Addresses of sandbox daemons that run already: unix:/path, host:port or dns:name:port; empty: the run starts a daemon on this machine when an environment needs one",
      ),
    ca: filePath(
      "Certificate (PEM) of the authority that signed the daemons' certificates; connections on TCP are then encrypted; unset: they are not",
    )
      .nullable()
      .default(null),
    token_var: z
      .string()
      .min(1)
      .default("PRL_SANDBOX_TOKEN")
      .describe("Environment variable that holds the bearer token of daemons at addresses on TCP"),
    min_isolation: z
      .enum(["process", "rootless", "full"])
      .nullable()
      .default(null)
      .describe("Least isolation of programs; unset: the strongest that the machine can do"),
    warm: z
      .record(z.string(), z.int().nonnegative())
      .default({})
      .describe(
        "Interpreters that the run's daemon starts in advance, such as { python = 16 }; empty: the daemon's default",
      ),
    max_running: automatic("Programs that the run's daemon runs at once; unset: the daemon's default"),
    max_held: automatic("Sandboxes that the run's daemon holds at once; unset: the daemon's default"),
    images: z
      .record(z.string(), z.string())
      .default({})
      .describe("Root file systems of the run's daemon by name: an unpacked directory, or an OCI layout"),
    limits: z
      .strictObject({
        wall_ms: limit("Wall time of a command (milliseconds)"),
        cpu_ms: limit("CPU time of a command (milliseconds)"),
        memory_bytes: limit("Memory of a sandbox (bytes)"),
        processes: limit("Processes and threads of a sandbox"),
        disk_bytes: limit("Disk space of a sandbox (bytes)"),
      })
      .prefault({})
      .describe("Limits of the sandboxes that rollouts hold, for environments that set none"),
  })
  .prefault({})
  .describe("Sandboxes of environments");
export type SandboxConfig = z.output<typeof sandboxBlock>;
