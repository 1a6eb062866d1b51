/** `[rollout_transport]` and `[weight_broadcast]`: how batches and weights travel between the processes of a run. */
import { z } from "zod";

const ADDRESS = /^([^\s/:@]+|\[[0-9a-fA-F:.]+\]):[1-9]\d{0,4}$/;
const LAST_PORT = 65_535;

const network = {
  host: z.string().min(1).default("127.0.0.1").describe("grpc: address that the trainer listens on"),
  port: z.int().min(0).max(LAST_PORT).default(0).describe("grpc: port that the trainer listens on; 0: any"),
  connect: z
    .string()
    .regex(ADDRESS, "must be host:port")
    .nullable()
    .default(null)
    .describe("grpc: host:port under which others reach the trainer; unset: where it listens"),
  timeout_s: z
    .number()
    .positive()
    .default(600)
    .describe("grpc: seconds without any progress after which the other side is given up"),
};

export const rolloutTransportBlock = z
  .strictObject({
    type: z
      .enum(["filesystem", "grpc"])
      .default("filesystem")
      .describe("How batches travel: by files in the run directory, or over the network"),
    ...network,
  })
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
  .prefault({})
  .describe("Weights, trainer to inference");
