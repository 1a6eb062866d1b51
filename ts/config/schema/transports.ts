/** `[rollout_transport]` and `[weight_broadcast]`: how batches and weights travel between the processes of a run. */
import { z } from "zod";

import { filePath, hostAddress, seconds } from "./fields.ts";

const ADDRESS = /^([^\s/:@]+|\[[0-9a-fA-F:.]+\]):[1-9]\d{0,4}$/;
const LAST_PORT = 65_535;

const pem = (what: string) => filePath(`grpc: file (PEM) with the ${what}; unset: none`).nullable().default(null);

const network = {
  host: hostAddress.default("127.0.0.1").describe("grpc: address that the trainer listens on"),
  port: z.int().min(0).max(LAST_PORT).default(0).describe("grpc: port that the trainer listens on; 0: any"),
  connect: z
    .string()
    .regex(ADDRESS, "must be host:port")
    .nullable()
    .default(null)
    .describe("grpc: host:port at which other processes reach the trainer; unset: where it listens"),
  timeout_s: seconds()
    .default(600)
    .describe("grpc: longest time without progress (seconds); then the other side counts as lost"),
  tls_cert: pem("certificate of each process, with which its listener encrypts and which it shows to others"),
  tls_key: pem("key of tls_cert"),
  tls_ca: pem("certificate of the authority that the other processes must have; connections are then encrypted"),
  tls_client_ca: pem(
    "certificate of the authority whose clients may connect; all others are refused, even with a token",
  ),
  tls_server_name: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("grpc: name in the certificates of the other processes; unset: the host of their address"),
};

/** `tls_cert` and `tls_key` go together, `tls_client_ca` needs both. */
function checkTls(
  block: { [key in "tls_cert" | "tls_key" | "tls_client_ca"]: string | null },
  context: z.RefinementCtx,
) {
  const { tls_cert: cert, tls_key: key, tls_client_ca: clientCa } = block;
  const message = "needs tls_cert and tls_key";
  if ((cert === null) !== (key === null)) {
    context.addIssue({ code: "custom", path: [cert === null ? "tls_key" : "tls_cert"], message });
  }
  if (clientCa !== null && cert === null) context.addIssue({ code: "custom", path: ["tls_client_ca"], message });
}

export const rolloutTransportBlock = z
  .strictObject({
    type: z
      .enum(["filesystem", "grpc"])
      .default("filesystem")
      .describe("How batches travel; filesystem: as files in the run directory; grpc: over the network"),
    keep: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Number of newest trained steps whose batches and training traces stay in rollouts/, where those since the newest checkpoint always stay; unset: all",
      ),
    ...network,
  })
  .superRefine(checkTls)
  .prefault({})
  .describe("How batches travel from the orchestrator to the trainer");

export const weightBroadcastBlock = z
  .strictObject({
    type: z
      .enum(["filesystem", "grpc"])
      .default("filesystem")
      .describe(
        "How weights travel; filesystem: as files in the run directory; grpc: over the network, from engine to engine",
      ),
    keep: z
      .int()
      .positive()
      .default(4)
      .describe("Number of newest weight versions that stay on disk; more than max_async_level"),
    verify: z
      .enum(["once", "always"])
      .default("once")
      .describe("Check of a version's digest; once: once on each machine; always: by each engine at each load"),
    ...network,
  })
  .superRefine(checkTls)
  .prefault({})
  .describe("How weights travel from the trainer to the inference servers");
