/** `[rollout_transport]` and `[weight_broadcast]`: how batches and weights travel between the processes of a run. */
import { z } from "zod";

import { filePath, hostAddress, seconds } from "./fields.ts";

const ADDRESS = /^([^\s/:@]+|\[[0-9a-fA-F:.]+\]):[1-9]\d{0,4}$/;
const LAST_PORT = 65_535;

const pem = (what: string) => filePath(`grpc: file (PEM) with the ${what}`).nullable().default(null);

const network = {
  host: hostAddress.default("127.0.0.1").describe("grpc: address that the trainer listens on"),
  port: z.int().min(0).max(LAST_PORT).default(0).describe("grpc: port that the trainer listens on; 0: any"),
  connect: z
    .string()
    .regex(ADDRESS, "must be host:port")
    .nullable()
    .default(null)
    .describe("grpc: host:port under which others reach the trainer; unset: where it listens"),
  timeout_s: seconds()
    .default(600)
    .describe("grpc: seconds without any progress after which the other side is given up"),
  tls_cert: pem("certificate of each process: its listener encrypts with it, others are shown it"),
  tls_key: pem("key of tls_cert"),
  tls_ca: pem("authority of the processes that are connected to; connections are encrypted then"),
  tls_client_ca: pem("authority of those who may connect; others are refused, also without a token"),
  tls_server_name: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("grpc: name in the certificates of the others; unset: the host of their address"),
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
      .describe("How batches travel: by files in the run directory, or over the network"),
    keep: z
      .int()
      .positive()
      .nullable()
      .default(null)
      .describe(
        "Newest trained steps whose batches and training traces stay in rollouts/; unset: all. Evaluations stay",
      ),
    ...network,
  })
  .superRefine(checkTls)
  .prefault({})
  .describe("Batches, orchestrator to trainer");

export const weightBroadcastBlock = z
  .strictObject({
    type: z
      .enum(["filesystem", "grpc"])
      .default("filesystem")
      .describe("How weights travel: by files in the run directory, or over the network, engines serving each other"),
    keep: z.int().positive().default(4).describe("Newest weight versions kept on disk; more than max_async_level"),
    verify: z
      .enum(["once", "always"])
      .default("once")
      .describe("Engines digest a version once per machine, or each of them every time that it loads one"),
    ...network,
  })
  .superRefine(checkTls)
  .prefault({})
  .describe("Weights, trainer to inference");
