/** `prl weights relay <dir>`: pulls every new version and serves it, from its first bytes on. */
import { resolve } from "node:path";

import { PrlError } from "../../../errors.ts";
import type { WantedWeights, WeightNode } from "../../../native/index.ts";
import { laterThan } from "../../../transports/index.ts";
import { numberOption, type PlainArguments } from "../../arguments/args.ts";
import type { CommandIo } from "../../command.ts";
import { announce, DEFAULT_LISTEN, onlyFolder, sourcesOf, withNode } from "./network.ts";

const DEFAULT_KEEP = 4;
/** How long a newer version is awaited before the publisher is asked whether it went back to an older one. */
const LOOK_MS = 5_000;

interface RelayOptions {
  /** Asks the publisher alone, with less patience than the others are pulled from. */
  brief: WeightNode;
  /** Where versions come from, the publisher last. */
  sources: readonly string[];
  keep: number;
  /** Gets a line for each version, and for each failed try. */
  note: (line: string) => void;
  signal: AbortSignal;
  lookMs?: number;
}

/** A version that is here. */
interface Here {
  version: number;
  digest: string;
}

export async function run(args: PlainArguments, io: CommandIo): Promise<number> {
  const root = resolve(io.cwd, onlyFolder(args, "where the versions go"));
  const sources = sourcesOf(args);
  const keep = numberOption(args.options, "--keep", DEFAULT_KEEP);
  return withNode(root, args, io, async (node, signal, brief) => {
    announce(io, await node.listen(args.options.get("--listen") ?? DEFAULT_LISTEN), root);
    const note = (line: string) => void io.stderr.write(`${line}\n`);
    await relayVersions(node, root, { brief, sources, keep, note, signal });
  });
}

/** Brings each version that the sources have into the node's folder `root`, until the signal. */
export async function relayVersions(node: WeightNode, root: string, options: RelayOptions): Promise<void> {
  let last: Here | undefined;
  let trouble: string | undefined;
  /** Up to this version other relays may have those of the attempt before the run went back. */
  let doubtful = 0;
  while (!options.signal.aborted) {
    const next = await nextVersion(node, last, options, (last?.version ?? doubtful) < doubtful);
    if (next === undefined) continue;
    if (next instanceof PrlError) {
      if (next.message !== trouble) options.note(`${next.message}; still trying`);
      trouble = next.message;
      continue;
    }
    trouble = undefined;
    options.note(`version ${next.version} (${next.digest}) is here`);
    if (last !== undefined && next.version < last.version) doubtful = Math.max(doubtful, last.version);
    last = next;
    // A run that went back needs this version, although later ones of the attempt before are here.
    await node.prune(options.keep + (await laterThan(root, next.version)));
  }
}

/**
 * Waits for the next version; `isDoubtful`: only the publisher knows which one that is. A publisher that is gone may come back: until then the relay serves
 * what it has, and what the other sources get; the result is then the error.
 */
async function nextVersion(
  node: WeightNode,
  last: Here | undefined,
  options: RelayOptions,
  isDoubtful: boolean,
): Promise<Here | PrlError | undefined> {
  const { brief, sources, lookMs = LOOK_MS } = options;
  try {
    const wanted = { ...(last !== undefined && { after: last.version }), waitMs: lookMs };
    const came = isDoubtful
      ? await asPublished(node, wanted, { brief, sources })
      : await ifItCame(node.pull(wanted, sources));
    // A run that is resumed from a checkpoint publishes lower numbers again.
    return came ?? (await asPublished(node, { waitMs: 0 }, { brief, sources, last }));
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_TRANSPORT_UNREACHABLE") throw error;
    return error;
  }
}

/** The publisher's version, from whichever source has it. */
async function asPublished(
  node: WeightNode,
  wanted: WantedWeights,
  { brief, sources, last }: { brief: WeightNode; sources: readonly string[]; last?: Here | undefined },
): Promise<Here | undefined> {
  const found = await ifItCame(brief.describe(wanted, sources.slice(-1)));
  if (found === undefined || (found.version === last?.version && found.digest === last.digest)) return undefined;
  return ifItCame(node.pull({ version: found.version, digest: found.digest, waitMs: 0 }, sources));
}

async function ifItCame<T>(version: Promise<T>): Promise<T | undefined> {
  try {
    return await version;
  } catch (error) {
    if (error instanceof PrlError && error.code === "PRL_TRANSPORT_VERSION") return undefined;
    throw error;
  }
}
