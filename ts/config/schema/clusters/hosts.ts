/**
 * `hosts.toml`: the machines of `prl launch ssh` and `prl fleet check`, and which part of a run each of them has.
 *
 * Addresses become arguments of `ssh`, so that they are names or IP addresses and nothing else.
 */
import { z } from "zod";

import { filePath, hostAddress } from "../fields.ts";

const LAST_PORT = 65_535;
/** Below the ports that systems give out themselves. */
const FIRST_PORT = 7300;
const MOST_HOSTS = 256;
const LONGEST_NAME = 64;

export const HOST_ROLES = ["trainer", "orchestrator", "inference", "env-worker"] as const;
export type HostRole = (typeof HOST_ROLES)[number];

const absolute = (description: string) =>
  z
    .string()
    .regex(/^\/[^\0\n\r]*$/u, "takes an absolute path, as it is on the host")
    .describe(description);

const word = z.string().regex(/^[^\0\n\r]+$/u, "is one line, and not empty");

const host = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/u, "use letters, digits, '.', '_' and '-', beginning with a letter or digit")
      .max(LONGEST_NAME, `at most ${LONGEST_NAME} characters`)
      .describe("Name of the host in messages, and of its folder in dir"),
    address: hostAddress.describe("Where ssh finds the host: a name, an IP address, or a Host of ssh's config"),
    internal_address: hostAddress
      .nullable()
      .default(null)
      .describe("Where the other hosts reach its parts, and what these listen on; unset: address"),
    port: z
      .int()
      .min(1)
      .max(LAST_PORT)
      .nullable()
      .default(null)
      .describe("Port of its sshd; unset: that of ssh's config"),
    user: z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9._@-]*$/u, "takes the name of a user")
      .nullable()
      .default(null)
      .describe("User on the host; unset: that of ssh's config"),
    identity: filePath(
      "File of the private key, which then is the only one tried; unset: those of ssh's config and agent",
    )
      .nullable()
      .default(null),
    roles: z
      .array(z.enum(HOST_ROLES))
      .min(1)
      .describe(
        "Parts of a run on the host: trainer, orchestrator (with the env workers, unless a host has the role env-worker), inference, env-worker",
      ),
    command: z
      .array(word)
      .min(1)
      .default(["prl"])
      .describe("Program that is prl on the host, with its first arguments"),
    tls_cert: absolute(
      "Certificate (PEM) of the host's env worker, as it lies on the host; needed with the role env-worker, unless the parts reach the host by loopback",
    )
      .nullable()
      .default(null),
    tls_key: absolute("Key of tls_cert, as it lies on the host").nullable().default(null),
    dir: absolute("Working directory on the host: a run has its files in <dir>/<name>/<run>"),
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/u, "must be the name of an environment variable"), z.string())
      .default({})
      .describe("Environment variables of the parts on the host, which no other process and no argument gets"),
  })
  .describe("A machine");
export type Host = z.output<typeof host>;

const TLS_PAIR = [
  ["tls_cert", "tls_key"],
  ["tls_key", "tls_cert"],
] as const;
const LOOPBACKS: ReadonlySet<string> = new Set(["127.0.0.1", "::1", "localhost"]);
const NEEDS_TLS =
  "is unset, and the host has the role env-worker, which the orchestrator reaches over the network with a token: set tls_cert and tls_key to files on the host";

/** The file. Relative paths begin at its folder, and `~/` at the user's. */
export const hostsFileSchema = z
  .strictObject({
    ssh_config: filePath("Config file of ssh in place of the user's and the system's (ssh -F); unset: these")
      .nullable()
      .default(null),
    first_port: z
      .int()
      .min(1024)
      .max(LAST_PORT - 1026)
      .default(FIRST_PORT)
      .describe(
        "First of the ports that the parts listen on: batches, weights, then one for each inference server, then one for each env worker of a host with that role",
      ),
    shared: z
      .array(absolute("A folder that all hosts see at the same path"))
      .default([])
      .describe("Folders that all hosts see at the same path, where checkpoints may lie"),
    host: z.array(host).min(1).max(MOST_HOSTS).describe("The machines"),
  })
  .superRefine((file, context) => {
    const refuse = (path: (string | number)[], message: string) =>
      context.addIssue({ code: "custom", path: ["host", ...path], message });
    const seen = new Map<string, number>();
    for (const [index, { name, roles, ...machine }] of file.host.entries()) {
      if (seen.has(name)) refuse([index, "name"], `is the name of host ${seen.get(name)} too: each needs its own`);
      seen.set(name, index);
      if (new Set(roles).size < roles.length) refuse([index, "roles"], "names a role twice");
      for (const [one, other] of TLS_PAIR) {
        if (machine[one] === null && machine[other] !== null) refuse([index, one], `is unset, and ${other} needs it`);
      }
      if (!roles.includes("env-worker") || machine.tls_cert !== null || machine.tls_key !== null) continue;
      if (!LOOPBACKS.has(machine.internal_address ?? machine.address)) refuse([index, "tls_cert"], NEEDS_TLS);
    }
  })
  .describe("Machines that ssh reaches");
export type HostsFile = z.output<typeof hostsFileSchema>;
