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
        "Sandbox daemons that run already: unix:/path, host:port or dns:name:port; none: one is started on this machine when an environment needs it",
      ),
    ca: filePath("Certificate (PEM) of the authority that signed the daemons'; set: connections on TCP are encrypted")
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
      .describe("Least isolation that programs may run with; unset: what the machine gives"),
    warm: z
      .record(z.string(), z.int().nonnegative())
      .default({})
      .describe("Interpreters that our own daemon starts in advance, such as { python = 16 }; none: its default"),
    max_running: automatic("Programs that our own daemon runs at once; unset: its default"),
    max_held: automatic("Sandboxes that our own daemon holds at once; unset: its default"),
    images: z
      .record(z.string(), z.string())
      .default({})
      .describe("Root file systems of our own daemon by name: an unpacked directory, or an OCI layout"),
    limits: z
      .strictObject({
        wall_ms: limit("Wall time of a command (milliseconds)"),
        cpu_ms: limit("CPU time of a command (milliseconds)"),
        memory_bytes: limit("Memory of a sandbox (bytes)"),
        processes: limit("Processes and threads of a sandbox"),
        disk_bytes: limit("What a sandbox may write (bytes)"),
      })
      .prefault({})
      .describe("Of sandboxes that rollouts hold, where the environment says nothing"),
  })
  .prefault({})
  .describe("Sandboxes of environments");
export type SandboxConfig = z.output<typeof sandboxBlock>;
