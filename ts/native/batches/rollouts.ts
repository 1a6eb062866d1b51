/**
 * Rollouts in native memory: from the bytes of an env worker to a rank's batch without a JavaScript object per sample or token.
 */

import { PrlError } from "../../errors.ts";
import { addon } from "../addon.ts";
import { finite, whole } from "../checks.ts";
import { streamsToNative, type TraceColumns, type TraceStreams } from "./columns.ts";
import { native, nativeAsync } from "../errors.ts";
import { batchOptions, type BatchOptions } from "./batch-options.ts";
import { PackedBatch, type FlopModel } from "../packing.ts";

const INPUT = "PRL_PACKING_INPUT";

export type { TraceColumns, TraceStreams } from "./columns.ts";

/** The values with which a rollout's tokens train. */
export interface TrainValues {
  /** Advantage of its sampled tokens. */
  advantage: number;
  /** Temperature of the sampling. */
  temperature: number;
  envId: number;
}

/** The samples of an episode. Its memory is freed when nothing refers to it any more. */
export class RolloutSamples {
  readonly #native: NativeRollout;

  private constructor(rollout: NativeRollout) {
    this.#native = rollout;
  }

  /**
   * Checks the binary part of an episode of `traces` traces and copies it into native memory. Errors: PRL_PACKING_INPUT naming the trace
   * and what is wrong with it, PRL_WEIGHTS_FORMAT.
   */
  static parse(blob: Uint8Array, traces: number): RolloutSamples {
    return new RolloutSamples(native(() => addon().NativeRollout.parse(blob, traces)));
  }

  /** Tokens of all samples. */
  get tokens(): number {
    return this.#native.tokens();
  }

  /** Root-to-leaf branches of all traces: training samples. */
  get samples(): number {
    return this.#native.samples();
  }

  /** A copy of the columns of each trace. */
  columns(): TraceColumns[] {
    return native(() => this.#native.columns());
  }

  /** A copy of the columns of one trace. Errors: PRL_PACKING_INPUT when the rollout does not have it. */
  columnsOf(trace: number): TraceColumns {
    const columns = this.columns()[trace];
    if (columns === undefined) throw new PrlError(INPUT, `the rollout has no columns of trace ${trace}`);
    return columns;
  }

  /** @internal */
  addTo(
    set: NativeSampleSet,
    { advantage, temperature, envId }: TrainValues,
    trace?: number,
    streams?: TraceStreams,
  ): number {
    if (streams !== undefined && trace === undefined)
      throw new PrlError(INPUT, "streams are those of one trace: give its number, too");
    const columns =
      streams === undefined ? null : { advantages: streams.advantages ?? null, ...streamsToNative(streams) };
    return native(() => set.add(this.#native, advantage, temperature, envId, trace, columns));
  }
}

/** The samples that a step trains on: rollouts, each with its advantages. */
export class SampleSet {
  readonly #native = new (addon().NativeSampleSet)();
  #size = 0;

  /** Samples added since it was last packed. */
  get size(): number {
    return this.#size;
  }

  /**
   * Adds every sample of a rollout, or of one of its traces; with `streams` each token of the trace has its own weights. Errors:
   * PRL_PACKING_INPUT when a stream does not have one entry per token, or no trace is named to which it belongs.
   */
  add(rollout: RolloutSamples, values: TrainValues, trace?: number, streams?: TraceStreams): void {
    const advantage = finite(INPUT, "advantage", values.advantage);
    const temperature = finite(INPUT, "temperature", values.temperature);
    const envId = whole(INPUT, "envId", values.envId, { max: 0xffff });
    this.#size += rollout.addTo(this.#native, { advantage, temperature, envId }, trace, streams);
  }

  /** Plans and builds one batch per rank, off the JavaScript thread, and empties the set; no samples give no batches. */
  async pack({ cost, ...layout }: BatchOptions & { cost?: FlopModel }): Promise<PackedBatch[]> {
    const options = batchOptions(layout);
    this.#size = 0;
    const packed = await nativeAsync(() => this.#native.pack(options, cost ?? null));
    return packed.map((batch) => new PackedBatch(batch));
  }
}

type NativeRollout = InstanceType<ReturnType<typeof addon>["NativeRollout"]>;
type NativeSampleSet = InstanceType<ReturnType<typeof addon>["NativeSampleSet"]>;
