/**
 * Demonstrations for the supervised stage as encoded samples, step after step: from an environment, or from rows of a file or dataset.
 *
 * Rows are read anew for every epoch, in an order that depends on the seed and the epoch (any order for up to 10,000 rows; larger data
 * are mixed within that distance); a batch may continue into the next epoch. All rows are read once before the first step, so that a
 * bad row is found there. Tokens that seq_len cuts are counted; an environment's demonstrations have to fit. A resumed run has to have
 * the data of the earlier attempt: equal rows, in any place, or an environment that makes the same demonstrations again.
 */
import { loadEnvironment } from "../../environments/run-start.ts";
import { createRng } from "../../random/rng.ts";
import { placedRows, type DataSource } from "../../datasets/index.ts";
import { seed as seedOf } from "../../random/seed.ts";
import { demonstrators, isDataPath, type SftConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { digest, type Sample } from "../../native/index.ts";
import {
  type DemonstrationEncoding,
  type DemonstrationToLearn,
  encodeDemonstration,
  type EncodedDemonstration,
  type LearntRoles,
} from "./demonstration-samples.ts";
import { type SftRow, sftRowSchema } from "./sft-rows.ts";

/** The samples of one step. */
export interface SftSamples {
  samples: Sample[];
  /** Counts by their names in `metrics.jsonl`. */
  counts: Record<string, number>;
}

/** How far the data are read. */
export interface SftPosition {
  /** Demonstrations taken since the run began, with those that seq_len left nothing of. */
  taken: number;
  /** Rows of an epoch; null where demonstrations are made. */
  rows: number | null;
  /** Digest of an epoch's rows in the order of the source, or of the demonstrations that were taken. */
  digest: string;
}

export interface SftData {
  /**
   * The next `size` demonstrations; those that seq_len leaves nothing of do not count. Errors: see `encodeDemonstration`, and those of
   * `rows`.
   */
  next(size: number): Promise<SftSamples>;
  readonly position: SftPosition;
  close(): Promise<void>;
}

/** A demonstration, its place, and how far the data are read with it. */
interface Taken {
  readonly demonstration: DemonstrationToLearn;
  /** Empty where it has no place. */
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

/** Whether a row is held out for validation. Its content decides, so that equal rows are on the same side. */
export function isHeldOut(row: SftRow, share: number): boolean {
  return share > 0 && Number.parseInt(digest(JSON.stringify(row)).slice(0, 8), 16) / 2 ** 32 < share;
}

/**
 * Opens the data at their beginning, or where an earlier attempt stopped.
 *
 * Errors: PRL_DATA_..., PRL_HUB_..., those of loading an environment; PRL_DATA_FORMAT for data without rows, PRL_RUN_DRIFT for other data
 * than the earlier attempt's.
 */
export async function openSftData(
  config: SftConfig,
  encoding: Pick<DemonstrationEncoding, "tokenizer" | "renderer">,
  signal: AbortSignal,
  from: SftPosition | null = null,
): Promise<SftData> {
  const isRows = config.data.source !== null;
  const { stream, position } = await streamFrom(config, from, signal);
  const settings: DemonstrationEncoding = {
    ...encoding,
    seqLen: config.seq_len,
    roles: config.data.loss_mask,
    overlong: isRows ? "cut" : "refuse",
  };
  let leftOutInARow = 0;
  return {
    position,
    async next(size) {
      const samples: Sample[] = [];
      const total = { cut: 0, cutTokens: 0, leftOut: 0 };
      let epoch: number | null = null;
      for (let learnt = 0; learnt < size;) {
        signal.throwIfAborted();
        const { value, done } = await stream.next();
        if (done === true) throw new PrlError("PRL_ENVIRONMENT_INVALID", "the demonstrations of the environment ended");
        advance(position, value);
        const encoded = await encodeAt(value, settings);
        for (const key of ["cut", "cutTokens", "leftOut"] as const) total[key] += encoded[key];
        samples.push(...encoded.samples);
        epoch = value.epoch;
        if (encoded.samples.length > 0) learnt++;
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

/** Errors: PRL_RUN_DRIFT when the data are not those that an earlier attempt had read as far as `from`, and those of `openSftData`. */
export async function assertSameData(config: SftConfig, from: SftPosition, signal: AbortSignal): Promise<void> {
  const { stream } = await streamFrom(config, from, signal);
  await stream.return(undefined);
}

/** The demonstrations after `from`, or from the beginning, and their position, which the caller advances. */
async function streamFrom(
  config: SftConfig,
  from: SftPosition | null,
  signal: AbortSignal,
): Promise<{ stream: AsyncGenerator<Taken>; position: SftPosition }> {
  const taken = from?.taken ?? 0;
  if (config.data.source !== null) {
    const { rows, digest: found } = await lookAtRows(config, signal);
    const position = { taken, rows, digest: found };
    assertEqual(from, position);
    return { stream: rowStream(config, rows, taken, signal), position };
  }
  const stream = environmentStream(config);
  const position: SftPosition = { taken: 0, rows: null, digest: digestOfNothing() };
  while (position.taken < taken) {
    signal.throwIfAborted();
    const { value, done } = await stream.next();
    if (done === true) break;
    advance(position, value);
  }
  assertEqual(from, position);
  return { stream, position };
}

/** Digest of no demonstrations. A function, so that the addon is loaded by the first run and not by an import. */
const digestOfNothing = (): string => digest("");

function extended(before: string, what: unknown): string {
  return digest(before + JSON.stringify(what));
}

/** Counts one more demonstration as taken. */
function advance(position: SftPosition, { demonstration }: Taken): void {
  position.taken++;
  if (position.rows === null) position.digest = extended(position.digest, demonstration);
}

/** Most consecutive rows of which seq_len may leave nothing to learn; more are a mistake. */
const MOST_LEFT_OUT = 10_000;

function nothingFits(seqLen: number, at: string): PrlError {
  const text = `seq_len ${seqLen} leaves nothing to learn of ${MOST_LEFT_OUT} rows one after the other, up to ${at}: raise it`;
  return new PrlError("PRL_PACKING_INPUT", text);
}

/** The next demonstration comes from the environment that is furthest below its share; among equals from the first. */
async function* environmentStream({ data, seed }: SftConfig): AsyncGenerator<Taken> {
  const streams = await Promise.all(
    demonstrators(data).map(async ({ env, ratio }) => {
      const environment = (await loadEnvironment({ id: env.id, path: env.path })).configure(env.args);
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

/** Counts the rows that are learnt in an epoch; each is read once. */
async function lookAtRows(config: SftConfig, signal: AbortSignal): Promise<{ rows: number; digest: string }> {
  const source = dataSource(config.data);
  const share = config.val?.share ?? 0;
  const found = { rows: 0, digest: digestOfNothing() };
  for await (const { row, at } of placedRows(source, sftRowSchema, { signal })) {
    if (!teaches(row, config.data.loss_mask))
      throw new PrlError("PRL_DATA_ROW", `${at} has no message to learn: see data.loss_mask`);
    if (isHeldOut(row, share)) continue;
    found.rows++;
    found.digest = extended(found.digest, row);
  }
  if (found.rows > 0) return found;
  const which = share > 0 ? "no rows that are not held out for validation" : "no rows";
  throw new PrlError("PRL_DATA_FORMAT", `${config.data.source} has ${which}`);
}

function assertEqual(then: SftPosition | null, now: SftPosition): void {
  if (then === null || (then.rows === now.rows && then.taken === now.taken && then.digest === now.digest)) return;
  const text = ({ taken, rows, digest: of }: SftPosition): string =>
    rows === null ? `${taken} demonstrations of an environment, digest ${of}` : `${rows} rows, digest ${of}`;
  const problem = `the data are not those of the run that is resumed: ${text(then)} then, ${text(now)} now`;
  throw new PrlError("PRL_RUN_DRIFT", `${problem}: put them back, or start a new run`);
}

function teaches(row: SftRow, roles: LearntRoles): boolean {
  return !("messages" in row) || row.messages.some(({ role }, index) => index >= row.learntFrom && roles[role]);
}

/** Epoch after epoch of `count` rows, from row `skipped` on, counted over all epochs. */
async function* rowStream(
  config: SftConfig,
  count: number,
  skipped: number,
  signal: AbortSignal,
): AsyncGenerator<Taken> {
  const source = dataSource(config.data);
  const share = config.val?.share ?? 0;
  for (let epoch = Math.floor(skipped / count); ; epoch++) {
    const shuffle = createRng(seedOf(config.seed, "sft", "", "", epoch, 0, 0));
    const first = Math.max(0, skipped - epoch * count);
    let read = 0;
    for await (const { row, at } of placedRows(source, sftRowSchema, { shuffle, signal })) {
      if (isHeldOut(row, share)) continue;
      if (++read > first) yield { demonstration: row, at, epoch: epoch + read / count };
    }
    if (read !== count) {
      throw new PrlError("PRL_DATA_FORMAT", `the data changed while they were read: ${count} rows, then ${read}`);
    }
  }
}

/** As `encodeDemonstration`; errors name the place. */
export async function encodeAt(
  { demonstration, at }: Pick<Taken, "demonstration" | "at">,
  settings: DemonstrationEncoding,
): Promise<EncodedDemonstration> {
  try {
    return await encodeDemonstration(demonstration, settings);
  } catch (cause) {
    if (!(cause instanceof PrlError) || at === "") throw cause;
    throw new PrlError(cause.code, `${at}: ${cause.message}`, { cause: cause.cause });
  }
}
