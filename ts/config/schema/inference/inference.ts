/** `[inference]`: the processes that sample. */
import { z } from "zod";
import { automatic, filePath, hostAddress, MOST_PROCESSES, MOST_THREADS, modelBlock } from "../fields.ts";
import { vllmBlock } from "./vllm.ts";

/** Each takes a slot of every step's bookkeeping. */
const MOST_SEQUENCES = 65_536;
/** The engine holds no more. */
export const MOST_WAITING = 65_536;

export const inferenceBlock = z
  .strictObject({
    backend: z
      .enum(["engine", "vllm"])
      .default("engine")
      .describe(
        "What samples: the embedded engine, or vLLM, whose environment `prl python setup vllm` makes and which the run starts and keeps",
      ),
    python: filePath("vllm: Python interpreter that has vLLM; unset: that of `prl python setup vllm`")
      .nullable()
      .default(null),
    replicas: z.int().positive().max(MOST_PROCESSES).default(1).describe("Number of inference servers"),
    threads: automatic(
      "Threads of each server, of a vLLM on processors too; unset: the launcher splits the cores",
      MOST_THREADS,
    ),
    max_num_seqs: z.int().positive().max(MOST_SEQUENCES).default(256).describe("Most sequences decoded together"),
    max_waiting: z
      .int()
      .nonnegative()
      .max(MOST_WAITING)
      .default(MOST_WAITING)
      .describe("engine: most samples that wait for a place among max_num_seqs; more are answered with 429"),
    max_model_len: automatic("Longest sequence a server accepts (tokens); unset: seq_len"),
    kv_cache_bytes: automatic(
      "Memory of the KV cache (bytes); unset: the engine chooses from max_num_seqs and max_model_len, a vLLM on processors takes 1 GiB, one on GPUs follows vllm.gpu_memory_utilization",
    ),
    prefix_cache: z.boolean().default(true).describe("Reuse the KV cache of prompts that begin alike"),
    enable_return_routed_experts: z
      .boolean()
      .default(false)
      .describe(
        "Samples come with the experts that their tokens went to; trainer.enable_router_replay sets it in a run, servers of base_url need it",
      ),
    server: z
      .strictObject({
        host: hostAddress
          .default("127.0.0.1")
          .describe(
            "Address to listen on; on one that other machines reach callers need the key of the run, which prl rl makes unless PRL_TRANSPORT_TOKEN has it; vllm: of this machine only",
          ),
        port: z.int().min(0).max(65535).default(0).describe("Port of the first server; 0: any free one"),
        weight_roots: z
          .array(z.string().min(1))
          .default([])
          .describe(
            "Absolute paths of folders that a server loads weights from, besides weights/ of its run directory; base_url may name a server with another run directory than that of the run",
          ),
      })
      .prefault({})
      .describe("Address of the servers"),
    vllm: vllmBlock,
    model: modelBlock.optional(),
  })
  .prefault({})
  .describe("The inference servers");
