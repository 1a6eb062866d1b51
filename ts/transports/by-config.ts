/** The transports that a run's config names, for each of its processes. */

import { join } from "node:path";
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import type { TransportOptions } from "../native/index.ts";
import { grpcRolloutReceiver, grpcRolloutSender, type RunProcess } from "./grpc-rollouts.ts";
import { grpcWeightFollower, grpcWeightSender, openWeightPuller, type WeightPuller } from "./grpc-weights.ts";
import { readTls, type TlsFiles } from "./tls.ts";
import { filesystemRollouts, type RolloutReceiver, type RolloutSender } from "./rollouts.ts";
import { filesystemWeights, type WeightFollower, type WeightSender } from "./weights.ts";

type TransportConfig = Pick<RlConfig, "rollout_transport" | "weight_broadcast">;

/** Addresses that the trainer listens on; absent where batches or weights travel by files. */
export interface TrainerAddresses {
  rollouts?: string;
  weights?: string;
}

export interface TrainerTransports {
  rollouts: RolloutReceiver;
  weights: WeightSender;
  addresses: TrainerAddresses;
}

/** The bearer token of every transport of this process: PRL_TRANSPORT_TOKEN. */
export function transportToken(env: Readonly<Record<string, string | undefined>>): string | null {
  const token = env["PRL_TRANSPORT_TOKEN"] ?? "";
  return token === "" ? null : token;
}

/**
 * Opens the transports by which the trainer receives batches and sends weights. `earlier`: where the trainer whose place this one takes was listening, which
 * is where the others look for it. Errors: PRL_TRANSPORT_ADDRESS.
 */
export async function openTrainerTransports(
  run: RunProcess,
  { rollout_transport: batches, weight_broadcast: broadcast }: TransportConfig,
  earlier: TrainerAddresses = {},
): Promise<TrainerTransports> {
  const { runDir, runId, attempt } = run;
  const addresses: TrainerAddresses = {};
  let rollouts: RolloutReceiver = filesystemRollouts(runDir, runId, attempt);
  if (batches.type === "grpc") {
    const receiver = await grpcRolloutReceiver(run, earlier.rollouts ?? listenAddress(batches), optionsOf(batches));
    addresses.rollouts = receiver.address;
    rollouts = receiver;
  }
  if (broadcast.type === "filesystem") return { rollouts, weights: filesystemWeights(runDir, broadcast), addresses };
  const listen = earlier.weights ?? listenAddress(broadcast);
  const weights = await grpcWeightSender(runDir, broadcast, listen, optionsOf(broadcast));
  addresses.weights = weights.address;
  return { rollouts, weights, addresses };
}

export interface OrchestratorTransports {
  rollouts: RolloutSender;
  weights: WeightFollower;
}

/**
 * Opens the transports by which the orchestrator sends batches and follows weights; `trainer` has the addresses from the trainer's
 * ready file.
 */
export function openOrchestratorTransports(
  run: RunProcess,
  { rollout_transport: batches, weight_broadcast: broadcast }: TransportConfig,
  trainer: TrainerAddresses,
): OrchestratorTransports {
  const { runDir, runId, attempt } = run;
  return {
    rollouts:
      batches.type === "filesystem"
        ? filesystemRollouts(runDir, runId, attempt)
        : grpcRolloutSender(run, [batches.connect ?? announced(trainer.rollouts, "batches")], optionsOf(batches)),
    weights:
      broadcast.type === "filesystem"
        ? filesystemWeights(runDir, broadcast)
        : grpcWeightFollower(runDir, broadcast.connect ?? announced(trainer.weights, "weights"), optionsOf(broadcast)),
  };
}

/** Opens the transport by which inference server `index` pulls weights; null when they come by files. */
export async function openInferencePuller(
  runDir: string,
  index: number,
  broadcast: TransportConfig["weight_broadcast"],
): Promise<WeightPuller | null> {
  if (broadcast.type === "filesystem") return null;
  const root = join(runDir, "received", `inference-${index}`);
  return openWeightPuller(root, broadcast, listenAddress({ ...broadcast, port: 0 }), optionsOf(broadcast));
}

function listenAddress({ host, port }: { host: string; port: number }): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function optionsOf(network: { timeout_s: number } & TlsFiles): TransportOptions {
  const patienceMs = Math.ceil(network.timeout_s * 1000);
  return { token: transportToken(process.env), patienceMs, tls: readTls(network) };
}

function announced(address: string | undefined, what: string): string {
  if (address !== undefined) return address;
  throw new PrlError("PRL_PROCESS_NOT_READY", `the trainer is ready but its ready file does not say where ${what} go`);
}
