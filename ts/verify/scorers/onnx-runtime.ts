/** The part of `onnxruntime-node` that scorers use; the package is optional and loaded when a scorer is opened. */

export interface OnnxTensor {
  readonly data: Float32Array | BigInt64Array;
  readonly dims: readonly number[];
}

export interface OnnxSession {
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
  run(inputs: Readonly<Record<string, OnnxTensor>>): Promise<Readonly<Record<string, OnnxTensor>>>;
}

export interface OnnxRuntime {
  readonly InferenceSession: {
    create(path: string, options: { intraOpNumThreads: number; interOpNumThreads: number }): Promise<OnnxSession>;
  };
  readonly Tensor: new (type: "int64", data: BigInt64Array, dims: readonly number[]) => OnnxTensor;
}

/** Null when the package is not installed. Rejects when it is and cannot be loaded. */
export async function loadOnnxRuntime(name = "onnxruntime-node"): Promise<OnnxRuntime | null> {
  try {
    const module = (await import(name)) as OnnxRuntime & { default?: OnnxRuntime };
    return module.default ?? module;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND";
    if (isMissing && error instanceof Error && error.message.includes(name)) return null;
    throw error;
  }
}
