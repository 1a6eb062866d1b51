/** Handles for the ends of the network transports. Their protocol: crates/transport/README.md. */

import { addon } from "./addon.ts";
import { native, nativeAsync } from "./errors.ts";
import { parseManifest, type WeightManifest } from "./weights/weight-manifest.ts";

export interface TransportOptions {
  /** Bearer token that callers must present, and that this end presents to others; null for none. */
  token: string | null;
  /** Without any progress for this long an exchange fails (PRL_TRANSPORT_UNREACHABLE). */
  patienceMs: number;
  /** Encrypts connections; unset: they are not encrypted. Errors: PRL_TRANSPORT_TLS. */
  tls?: TransportTls | null;
}

/** A node's certificate and the authorities that it trusts, all in PEM. */
export interface TransportTls {
  /** Its certificate: its listener encrypts with it, and it presents it to listeners that ask for one. */
  certificate?: string;
  key?: string;
  /** Authority of the nodes that it connects to; it connects to no other. */
  ca?: string;
  /** Its listener refuses callers without a certificate of this authority; needs `certificate`. */
  clientCa?: string;
  /** Name in the others' certificates; default: the host of their address. */
  serverName?: string;
}

function optionsOf({ token, patienceMs, tls }: TransportOptions) {
  if (tls === undefined || tls === null) return { token, patienceMs, tls: null };
  const { certificate = null, key = null, ca = null, clientCa = null, serverName = null } = tls;
  return { token, patienceMs, tls: { certificate, key, ca, clientCa, serverName } };
}

/** Receives batches into a folder; each appears as `step_<s>/rank_<r>.safetensors` when it is whole and durable. */
export interface NetworkInbox {
  /** `host:port` where it listens. */
  readonly address: string;
  close(): Promise<void>;
}

/** Listens on `host:port`, port 0 for any. Errors: PRL_TRANSPORT_ADDRESS. */
export async function listenForRollouts(
  listen: string,
  inbox: string,
  runId: string,
  options: TransportOptions,
): Promise<NetworkInbox> {
  const { NativeRolloutReceiver } = addon();
  const receiver = await nativeAsync(() => NativeRolloutReceiver.listen(listen, inbox, runId, optionsOf(options)));
  return {
    address: native(() => receiver.address()),
    close: async () => {
      await nativeAsync(() => receiver.close());
    },
  };
}

/** Delivers the batches of a spool folder and removes each when its receiver has it on disk. */
export interface NetworkSpool {
  /**
   * Delivers all batches in the spool and returns their number. Errors: PRL_TRANSPORT_UNREACHABLE, _KEY, _CONFLICT, _SUPERSEDED,
   * _CORRUPT; batches that were not acknowledged stay.
   */
  deliver(): Promise<number>;
  /** Ends a delivery under way (PRL_TRANSPORT_CLOSED). */
  close(): void;
}

/** `receivers` are addresses by rank. Errors: PRL_TRANSPORT_ADDRESS. */
export function openSpool(spool: string, receivers: readonly string[], options: TransportOptions): NetworkSpool {
  const sender = native(() => addon().NativeRolloutSender.open(spool, [...receivers], optionsOf(options)));
  return {
    deliver: () => nativeAsync(() => sender.deliver()),
    close: () => native(() => sender.close()),
  };
}

export interface WantedWeights {
  /** Unset: the newest. */
  version?: number;
  /** Version digest that it must have. */
  digest?: string;
  /** Without `version`: newer than this. */
  after?: number;
  /** How long it may be missing while others answer. Default: `patienceMs`. */
  waitMs?: number;
}

/** Serves the versions of a folder and pulls others into it; it serves a version also while it is still pulling it. */
export interface WeightNode {
  /** Serves on `host:port`, port 0 for any, and returns the address. Errors: PRL_TRANSPORT_ADDRESS. */
  listen(listen: string): Promise<string>;
  /** The manifest of a version that one of `sources` has or is getting. Errors: PRL_TRANSPORT_VERSION when it does not come in time. */
  describe(wanted: WantedWeights, sources: readonly string[]): Promise<WeightManifest>;
  /** Pulls a version and the versions that it builds on; `sources` are in order of preference. */
  pull(
    wanted: WantedWeights,
    sources: readonly string[],
  ): Promise<{ directory: string; version: number; digest: string }>;
  /** Tells the last of `sources`, the publisher, that a version has arrived everywhere. */
  acknowledge(version: number, digest: string, sources: readonly string[]): Promise<void>;
  /** Waits until this listening node gets that acknowledgement. Errors: PRL_TRANSPORT_UNREACHABLE after `patienceMs`. */
  acknowledged(version: number, digest: string): Promise<void>;
  /** Removes all but the newest versions and what these build on. */
  prune(keep: number): Promise<void>;
  /** Ends serving, pulling and waiting (PRL_TRANSPORT_CLOSED). */
  close(): Promise<void>;
}

/** A node over `root`, which need not exist. Errors: PRL_TRANSPORT_AUTH for a token that cannot be sent. */
export function openWeightNode(root: string, options: TransportOptions): WeightNode {
  const node = native(() => addon().NativeWeightNode.open(root, optionsOf(options)));
  const nullable = ({ version, digest, after, waitMs }: WantedWeights) => ({
    version: version ?? null,
    digest: digest ?? null,
    after: after ?? null,
    waitMs: waitMs ?? null,
  });
  return {
    listen: (listen) => nativeAsync(() => node.listen(listen)),
    describe: async (wanted, sources) =>
      parseManifest(await nativeAsync(() => node.describe(nullable(wanted), [...sources]))),
    pull: (wanted, sources) => nativeAsync(() => node.pull(nullable(wanted), [...sources])),
    acknowledge: async (version, digest, sources) => {
      await nativeAsync(() => node.acknowledge(version, digest, [...sources]));
    },
    acknowledged: async (version, digest) => {
      await nativeAsync(() => node.acknowledged(version, digest));
    },
    prune: async (keep) => {
      await nativeAsync(() => node.prune(keep));
    },
    close: async () => {
      await nativeAsync(() => node.close());
    },
  };
}
