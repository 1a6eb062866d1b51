/** The worker thread of the scorers: one ONNX session, batches of tokens in, tensors out. */
import { parentPort, workerData } from "node:worker_threads";

import { messageOf } from "../../errors.ts";
import { loadOnnxRuntime, type OnnxTensor } from "./onnx-runtime.ts";

export interface OnnxWorkerData {
  readonly path: string;
  readonly threads: number;
}

/** Rows of token ids; the worker pads them. */
export interface OnnxBatch {
  readonly id: number;
  readonly rows: readonly Uint32Array[];
  readonly padTokenId: number;
}

export type OnnxAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly reason: "missing" | "model"; readonly message: string }
  | { readonly kind: "result"; readonly id: number; readonly output: OnnxOutput }
  | { readonly kind: "error"; readonly id: number; readonly message: string };

export interface OnnxOutput {
  readonly name: string;
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/** Preferred over the first output: a model that pools by itself. */
const POOLED = ["sentence_embedding", "pooler_output", "logits", "score"];
const KNOWN_INPUTS = new Set(["input_ids", "attention_mask", "token_type_ids"]);

const post = (answer: OnnxAnswer): void => parentPort?.postMessage(answer);

try {
  const { path, threads } = workerData as OnnxWorkerData;
  const runtime = await loadOnnxRuntime();
  if (runtime === null) post({ kind: "failed", reason: "missing", message: "onnxruntime-node is not installed" });
  else {
    const session = await runtime.InferenceSession.create(path, { intraOpNumThreads: threads, interOpNumThreads: 1 });
    const strange = session.inputNames.filter((name) => !KNOWN_INPUTS.has(name));
    if (strange.length > 0) throw new TypeError(`it wants the inputs ${strange.join(", ")}, which texts do not have`);
    const output = POOLED.find((name) => session.outputNames.includes(name)) ?? session.outputNames[0];
    if (output === undefined) throw new TypeError("it has no output");

    const run = async ({ rows, padTokenId }: OnnxBatch): Promise<OnnxOutput> => {
      const width = Math.max(...rows.map((row) => row.length));
      const dims = [rows.length, width];
      const cells = (value: (row: Uint32Array, at: number) => number): OnnxTensor => {
        const data = BigInt64Array.from({ length: rows.length * width }, (_, index) => {
          const row = rows[Math.floor(index / width)] ?? new Uint32Array();
          return BigInt(value(row, index % width));
        });
        return new runtime.Tensor("int64", data, dims);
      };
      const all: Record<string, OnnxTensor> = {
        input_ids: cells((row, at) => row[at] ?? padTokenId),
        attention_mask: cells((row, at) => Number(at < row.length)),
        token_type_ids: cells(() => 0),
      };
      const inputs = Object.fromEntries(Object.entries(all).filter(([name]) => session.inputNames.includes(name)));
      const found = (await session.run(inputs))[output];
      if (!(found?.data instanceof Float32Array)) throw new TypeError(`its output ${output} is no tensor of floats`);
      return { name: output, data: found.data, dims: found.dims };
    };

    parentPort?.on("message", (batch: OnnxBatch) => {
      run(batch).then(
        (result) => post({ kind: "result", id: batch.id, output: result }),
        (error: unknown) => post({ kind: "error", id: batch.id, message: messageOf(error) }),
      );
    });
    post({ kind: "ready" });
  }
} catch (error) {
  post({ kind: "failed", reason: "model", message: messageOf(error) });
}
