/**
 * An ONNX model of texts in a worker thread: one batch at a time, each within a deadline.
 *
 * A batch that is late fails its caller; the thread goes on, because a native computation cannot be interrupted, and its late result is
 * dropped. The thread does not keep the process alive while no call waits for it.
 */
import { access } from "node:fs/promises";
import { Worker } from "node:worker_threads";

import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { number } from "../../options.ts";
import type { Tokenizer } from "../../renderers/index.ts";
import { checkDeadline } from "../deadline-thread.ts";
import type { OnnxAnswer, OnnxBatch, OnnxOutput, OnnxWorkerData } from "./worker.ts";

export interface OnnxModelOptions {
  /** Path of the ONNX file. Inputs `input_ids` and, where it has them, `attention_mask` and `token_type_ids`. */
  model: string;
  /** Folder of a tokenizer (tokenizer.json), or a tokenizer. */
  tokenizer: string | Pick<Tokenizer, "encode" | "padTokenId">;
  /** Most tokens of a text that are used, from its beginning. Default 512. */
  maxTokens?: number;
  /** Texts in one batch. Default 16. */
  batchSize?: number;
  /** Threads of the runtime. Default 1. */
  threads?: number;
  /** Time for one batch, with its wait. Default 30000. */
  deadlineMs?: number;
}

/** The keys that every scorer of such a model has. */
export const ONNX_SHAPE = {
  model: z.string(),
  tokenizer: z.union([z.string(), z.looseObject({})], "must be the folder of a tokenizer, or a tokenizer"),
  maxTokens: number.optional(),
  batchSize: number.optional(),
  threads: number.optional(),
  deadlineMs: number.optional(),
};

interface Waiting {
  readonly resolve: (output: OnnxOutput) => void;
  readonly reject: (error: Error) => void;
}

const OPEN_MS = 120_000;

/** One row per text, each with what the model's output has for it; `lengths` are the tokens that were looked at. */
export interface OnnxRows {
  readonly rows: readonly Float32Array[];
  /** Shape of one row: [width], or [tokens, width] with padding. */
  readonly dims: readonly number[];
  readonly lengths: readonly number[];
}

export class OnnxModel {
  readonly #worker: Worker;
  readonly #tokenizer: Pick<Tokenizer, "encode" | "padTokenId">;
  readonly #options: Required<Omit<OnnxModelOptions, "tokenizer">>;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #ended: Error | null = null;

  private constructor(
    worker: Worker,
    tokenizer: Pick<Tokenizer, "encode" | "padTokenId">,
    options: Required<Omit<OnnxModelOptions, "tokenizer">>,
  ) {
    this.#worker = worker;
    this.#tokenizer = tokenizer;
    this.#options = options;
    worker.on("message", (answer: OnnxAnswer) => this.#receive(answer));
    worker.on("error", (error) => this.#end(error));
    worker.on("exit", () => this.#end(new Error("the thread ended")));
    worker.unref();
  }

  /** Errors: PRL_VERIFY_OPTIONS, PRL_VERIFY_UNSUPPORTED without the package, PRL_IO, PRL_TOKENIZER. `who` is named in messages. */
  static async open(who: string, given: OnnxModelOptions): Promise<OnnxModel> {
    const options = { maxTokens: 512, batchSize: 16, threads: 1, deadlineMs: 30_000, ...given };
    for (const key of ["maxTokens", "batchSize", "threads"] as const) {
      if (Number.isInteger(options[key]) && options[key] > 0) continue;
      throw new PrlError(
        "PRL_VERIFY_OPTIONS",
        `${who}: ${key}: expected a whole number from 1 on, got ${options[key]}`,
      );
    }
    checkDeadline(options.deadlineMs);
    await access(options.model).catch((cause: unknown) => {
      throw new PrlError("PRL_IO", `${who}: the model ${options.model} cannot be read`, { cause });
    });
    const tokenizer =
      typeof given.tokenizer === "string"
        ? await (await import("../../renderers/index.ts")).loadTokenizer(given.tokenizer)
        : given.tokenizer;
    const worker = new Worker(new URL("./worker.js", import.meta.url), {
      workerData: { path: options.model, threads: options.threads } satisfies OnnxWorkerData,
      execArgv: [],
    });
    await ready(who, worker, options.model);
    return new OnnxModel(worker, tokenizer, options);
  }

  /** Errors: PRL_DEADLINE, PRL_VERIFY_FAILED when the model cannot compute it. */
  async run(texts: readonly string[]): Promise<OnnxRows> {
    const { maxTokens, batchSize } = this.#options;
    const tokens = texts.map((text) => {
      const ids = this.#tokenizer.encode(text, { addSpecialTokens: true }).slice(0, maxTokens);
      // A text without tokens is one of padding: a batch has no empty rows.
      return ids.length > 0 ? ids : Uint32Array.of(this.#tokenizer.padTokenId ?? 0);
    });
    const rows: Float32Array[] = [];
    let dims: readonly number[] = [];
    for (let at = 0; at < tokens.length; at += batchSize) {
      const batch = tokens.slice(at, at + batchSize);
      const output = await this.#compute(batch);
      dims = output.dims.slice(1);
      const size = dims.reduce((product, one) => product * one, 1);
      if (output.dims[0] !== batch.length || output.data.length !== size * batch.length) {
        throw new PrlError("PRL_VERIFY_FAILED", `the output ${output.name} has the shape ${output.dims.join(" x ")}`);
      }
      batch.forEach((_, index) => rows.push(output.data.slice(index * size, (index + 1) * size)));
    }
    return { rows, dims, lengths: tokens.map(({ length }) => length) };
  }

  /** Ends the thread; what is being computed fails. */
  async close(): Promise<void> {
    this.#end(new Error("the scorer is closed"));
    await this.#worker.terminate();
  }

  #compute(rows: readonly Uint32Array[]): Promise<OnnxOutput> {
    const { deadlineMs, model } = this.#options;
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        if (this.#waiting.size === 0) this.#worker.unref();
        settle();
      };
      const fail = (error: Error): void =>
        done(() => reject(new PrlError("PRL_VERIFY_FAILED", `${model}: ${error.message}`, { cause: error })));
      const late = new PrlError("PRL_DEADLINE", `${model} gave nothing within ${deadlineMs} ms`);
      const timer = setTimeout(() => done(() => reject(late)), deadlineMs);
      this.#waiting.set(id, { resolve: (output) => done(() => resolve(output)), reject: fail });
      if (this.#ended !== null) return fail(this.#ended);
      this.#worker.ref();
      this.#worker.postMessage({ id, rows, padTokenId: this.#tokenizer.padTokenId ?? 0 } satisfies OnnxBatch);
    });
  }

  #receive(answer: OnnxAnswer): void {
    if (answer.kind === "result") this.#waiting.get(answer.id)?.resolve(answer.output);
    if (answer.kind === "error") this.#waiting.get(answer.id)?.reject(new Error(answer.message));
  }

  #end(error: Error): void {
    this.#ended ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
  }
}

/** Waits until the worker has loaded the model. */
async function ready(who: string, worker: Worker, model: string): Promise<void> {
  const answer = await new Promise<OnnxAnswer>((resolve, reject) => {
    const late = setTimeout(
      () => reject(new PrlError("PRL_DEADLINE", `${who}: ${model} was not loaded within ${OPEN_MS} ms`)),
      OPEN_MS,
    );
    worker.once("message", (first: OnnxAnswer) => {
      clearTimeout(late);
      resolve(first);
    });
    worker.once("error", (error) => {
      clearTimeout(late);
      reject(error);
    });
  }).catch(async (error: unknown) => {
    await worker.terminate();
    throw error;
  });
  if (answer.kind !== "failed") return;
  await worker.terminate();
  throw answer.reason === "missing"
    ? new PrlError("PRL_VERIFY_UNSUPPORTED", `${who} needs the package onnxruntime-node: npm install onnxruntime-node`)
    : new PrlError("PRL_VERIFY_OPTIONS", `${who}: ${model} cannot be used: ${answer.message}`);
}
