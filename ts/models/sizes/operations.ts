/**
 * The operations that a training step needs, as its "model FLOPs" (Chowdhery et al., PaLM, arXiv:2204.02311, appendix B): the share of a device's peak
 * that they reach is the step's MFU. Activations that are computed again do not count, and attention counts what a causal mask leaves.
 *
 * | of a step                | operations, a product and a sum being two                                         |
 * | ------------------------ | --------------------------------------------------------------------------------- |
 * | matrices of the layers   | 6 N for each token, 4 N when they are frozen; N: those that a token uses           |
 * | adapter                  | 6 A for each token                                                                 |
 * | attention of a sequence  | 6 layers x q x length^2                                                            |
 * | head                     | 6 E for each token that trains, 4 E when it is frozen                              |
 */
import { type AdapterShape, adapterParameters, countParameters } from "./parameters.ts";
import { type ModelShape, sizesOf } from "./shape.ts";

/** Tokens of a step. */
export interface StepTokens {
  readonly all: number;
  /** Those that go through the head. */
  readonly trained: number;
  /** The sum of the squares of the sequences' lengths. */
  readonly squares: number;
}

/** `adapter`: null where all weights train. */
export function trainingOperations(shape: ModelShape, adapter: AdapterShape | null, tokens: StepTokens): number {
  const { active, outside } = countParameters(shape);
  const { layers, q, embedding } = sizesOf(shape);
  const each = adapter === null ? 6 : 4;
  const adapted = adapter === null ? 0 : 6 * adapterParameters(shape, adapter);
  const matrices = tokens.all * (each * (active - outside) + adapted);
  return matrices + 6 * layers * q * tokens.squares + each * embedding * tokens.trained;
}
