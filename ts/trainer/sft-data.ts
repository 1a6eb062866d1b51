/**
 * Demonstrations for the supervised stage as encoded samples, step after step: an environment's own, or rows of a file or dataset.
 *
 * Rows are read anew for every epoch, in an order that follows from the seed and the epoch (any order for up to 10,000 rows, larger data
 * are mixed within that reach); a batch goes on into the next epoch. All rows are read once before the first step, so that a bad one is
 * found there. What seq_len cuts is counted, never silent; an environment's demonstrations have to fit.
 */
import { loadEnvironment, createRng, placedRows, seed as seedOf, type DataSource } from "../environments/index.ts";
import { demonstrators, isDataPath, type SftConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { digest, type Sample } from "../native/index.ts";
import {
  type DemonstrationEncoding,
  type DemonstrationToLearn,
  encodeDemonstration,
  type EncodedDemonstration,
  type LearntRoles,
} from "./demonstration-samples.ts";
import { type SftRow, sftRowSchema } from "./sft-rows.ts";

/** What one step learns. */
export interface SftSamples {
  samples: Sample[];
  /** By the names of `metrics.jsonl`. */
  counts: Record<string, number>;
}

export interface SftData {
  /** `size` demonstrations; those that seq_len leaves nothing of do not count. Errors: see `encodeDemonstration`, and those of `rows`. */
  next(size: number): Promise<SftSamples>;
  close(): Promise<void>;
}

/** A demonstration, where it comes from, and how far the data are read with it. */
interface Taken {
  readonly demonstration: DemonstrationToLearn;
  /** Empty where there is no place to name. */
  readonly at: string;
  readonly epoch: number | null;
}

/** Where the rows of `data` are; its `source` is set. */
export function dataSource({
  source,
  split,
  subset,
  revision,
}: Pick<SftConfig["data"], "source" | "split" | "subset" | "revision">): DataSource {
  if (source === null) throw new PrlError("PRL_CONFIG_INVALID", "data.source is not set");
  if (isDataPath(source)) return { file: source };
  return { dataset: source, split, revision, ...(subset !== null && { config: subset }) };
}

/** Whether a row is held out for validation: by what is in it, so that equal rows are on one side. */
export function isHeldOut(row: SftRow, share: number): boolean {
  return Number.parseInt(digest(JSON.stringify(row)).slice(0, 8), 16) / 2 ** 32 < share;
}

/** Errors: PRL_DATA_..., PRL_HUB_..., those of loading an environment; PRL_DATA_FORMAT for data without rows. */
export async function openSftData(
  config: SftConfig,
  encoding: Pick<DemonstrationEncoding, "tokenizer" | "renderer">,
  signal: AbortSignal,
): Promise<SftData> {
  const isRows = config.data.source !== null;
  const stream = isRows ? await rowStream(config, signal) : environmentStream(config);
  const settings: DemonstrationEncoding = {
    ...encoding,
    seqLen: config.seq_len,
    roles: config.data.loss_mask,
    overlong: isRows ? "cut" : "refuse",
  };
  let leftOutInARow = 0;
  return {
    async next(size) {
      const samples: Sample[] = [];
      const total = { cut: 0, cutTokens: 0, leftOut: 0 };
      let epoch: number | null = null;
      for (let taken = 0; taken < size;) {
        signal.throwIfAborted();
        const { value, done } = await stream.next();
        if (done === true) throw new PrlError("PRL_ENVIRONMENT_INVALID", "the demonstrations of the environment ended");
        const encoded = encodeAt(value, settings);
        for (const key of ["cut", "cutTokens", "leftOut"] as const) total[key] += encoded[key];
        samples.push(...encoded.samples);
        epoch = value.epoch;
        if (encoded.samples.length > 0) taken++;
        leftOutInARow = encoded.samples.length > 0 ? 0 : leftOutInARow + 1;
        if (leftOutInARow >= MOST_LEFT_OUT) throw nothingFits(config.seq_len, value.at);
      }
      const counts = { "data/samples": samples.length, ...(epoch !== null && { "progress/epoch": epoch }) };
      const cut = { "data/cut": total.cut, "data/cut_tokens": total.cutTokens, "data/left_out": total.leftOut };
      return { samples, counts: isRows ? { ...counts, ...cut } : counts };
    },
    close: async () => void (await stream.return(undefined)),
  };
}

/** Rows in a row of which seq_len leaves nothing to learn, before it is called a mistake. */
const MOST_LEFT_OUT = 10_000;

function nothingFits(seqLen: number, at: string): PrlError {
  const text = `seq_len ${seqLen} leaves nothing to learn of ${MOST_LEFT_OUT} rows one after the other, up to ${at}: raise it`;
  return new PrlError("PRL_PACKING_INPUT", text);
}

/** Of several environments that comes next of which most is missing to its share; of equals the first. */
async function* environmentStream({ data, seed }: SftConfig): AsyncGenerator<Taken> {
  const streams = await Promise.all(
    demonstrators(data).map(async ({ env, ratio }) => {
      const environment = (await loadEnvironment(env)).configure(env.args);
      return { demonstrations: environment.demonstrations(seed)[Symbol.iterator](), ratio, taken: 0 };
    }),
  );
  for (;;) {
    const next = streams.reduce((a, b) => ((b.taken + 1) / b.ratio < (a.taken + 1) / a.ratio ? b : a));
    next.taken++;
    const { value: demonstration, done } = next.demonstrations.next();
    if (done === true) return;
    yield { demonstration, at: "", epoch: null };
  }
}

async function rowStream(config: SftConfig, signal: AbortSignal): Promise<AsyncGenerator<Taken>> {
  const source = dataSource(config.data);
  const share = config.val?.share ?? 0;
  let count = 0;
  for await (const { row, at } of placedRows(source, sftRowSchema, { signal })) {
    if (!teaches(row, config.data.loss_mask))
      throw new PrlError("PRL_DATA_ROW", `${at} has no message to learn: see data.loss_mask`);
    if (!isHeldOut(row, share)) count++;
  }
  if (count === 0) {
    const which = share > 0 ? "no rows that are not held out for validation" : "no rows";
    throw new PrlError("PRL_DATA_FORMAT", `${config.data.source} has ${which}`);
  }
  return epochs(source, { count, share, seed: config.seed, signal });
}

function teaches(row: SftRow, roles: LearntRoles): boolean {
  return !("messages" in row) || row.messages.some(({ role }, index) => index >= row.learntFrom && roles[role]);
}

interface EpochOptions {
  /** Rows of one. */
  count: number;
  /** Of all rows that is held out. */
  share: number;
  seed: number;
  signal: AbortSignal;
}

async function* epochs(source: DataSource, { count, share, seed, signal }: EpochOptions): AsyncGenerator<Taken> {
  for (let epoch = 0; ; epoch++) {
    const shuffle = createRng(seedOf(seed, "sft", "", "", epoch, 0, 0));
    let read = 0;
    for await (const { row, at } of placedRows(source, sftRowSchema, { shuffle, signal })) {
      if (isHeldOut(row, share)) continue;
      yield { demonstration: row, at, epoch: epoch + ++read / count };
    }
    if (read !== count) {
      throw new PrlError("PRL_DATA_FORMAT", `the data changed while they were read: ${count} rows, then ${read}`);
    }
  }
}

/** As `encodeDemonstration`, errors with the place. */
export function encodeAt(
  { demonstration, at }: Pick<Taken, "demonstration" | "at">,
  settings: DemonstrationEncoding,
): EncodedDemonstration {
  try {
    return encodeDemonstration(demonstration, settings);
  } catch (cause) {
    if (!(cause instanceof PrlError) || at === "") throw cause;
    throw new PrlError(cause.code, `${at}: ${cause.message}`, { cause: cause.cause });
  }
}
