/** `[inference]`: the processes that sample. */
import { z } from "zod";
import { automatic, hostAddress, MOST_PROCESSES, MOST_THREADS, modelBlock } from "./fields.ts";

/** Each takes a slot of every step's bookkeeping. */
const MOST_SEQUENCES = 65_536;
/** The engine holds no more. */
const MOST_WAITING = 65_536;

export const inferenceBlock = z
  .strictObject({
    replicas: z.int().positive().max(MOST_PROCESSES).default(1).describe("Number of inference servers"),
    threads: automatic("Threads of each server; unset: the launcher splits the cores", MOST_THREADS),
    max_num_seqs: z.int().positive().max(MOST_SEQUENCES).default(256).describe("Most sequences decoded together"),
    max_waiting: z
      .int()
      .nonnegative()
      .max(MOST_WAITING)
      .default(MOST_WAITING)
      .describe("Most samples that wait for a place among max_num_seqs; more are answered with 429"),
    max_model_len: automatic("Longest sequence a server accepts (tokens); unset: seq_len"),
    kv_cache_bytes: automatic("Memory of the KV cache (bytes); unset: chosen from max_num_seqs and max_model_len"),
    prefix_cache: z.boolean().default(true).describe("Reuse the KV cache of prompts that begin alike"),
    server: z
      .strictObject({
        host: hostAddress
          .default("127.0.0.1")
          .describe("Address to listen on; one that other machines reach needs PRL_TRANSPORT_TOKEN"),
        port: z.int().min(0).max(65535).default(0).describe("Port of the first server; 0: any free one"),
      })
      .prefault({})
      .describe("Address of the servers"),
    model: modelBlock.optional(),
  })
  .prefault({})
  .describe("The inference servers");
