/**
 * Which part of a run is on which host, and the config that each part gets.
 *
 * Batches go from the orchestrator to the trainer as files where both are on one host, and by grpc otherwise. Weights go as files where all parts are
 * on one host, and by grpc otherwise. Env workers are beside the orchestrator, or on the hosts with their role, where it reaches them over TLS. All ports
 * are known before anything starts, because every part gets them in its config. What cannot work so is refused by key.
 */
import { join, relative } from "node:path";

import {
  batchRanks,
  type Host,
  type HostRole,
  type HostsFile,
  ownEnvWorkers,
  placeOf,
  type Provenance,
  type RlConfig,
} from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { LOOPBACK, partsProblems, type PartsRefusal, refuseFirst } from "../clusters/parts-config.ts";

export interface Part {
  /** Name of its log and in messages: `trainer-0`. */
  readonly name: string;
  readonly component: "trainer" | "orchestrator" | "inference" | "env-worker";
  readonly index: number;
  /** The sub-command of prl. */
  readonly command: "trainer" | "orchestrator" | "inference" | "env-server";
  /** `work` ends by itself when the run is done, `serve` does not. */
  readonly kind: "work" | "serve";
  readonly host: Host;
  /** The run directory on the host. */
  readonly runDir: string;
  readonly config: RlConfig;
}

export interface HostPlan {
  readonly parts: readonly Part[];
  /** Host that writes the run's metrics and events; the trainer's own are added where it is on another one. */
  readonly orchestrator: Host;
  readonly trainer: Host;
  /** Env workers are on hosts that have their role, so that they and the orchestrator need a token. */
  readonly hasRemoteWorkers: boolean;
}

export interface PlanSources {
  readonly hosts: HostsFile;
  readonly hostsProvenance: Provenance;
  readonly provenance?: Provenance | undefined;
}

/** Ports behind `first_port`: batches, weights, then the servers, then the env workers of hosts with their role. */
const WEIGHTS_PORT = 1;
const SERVERS_PORT = 2;

/** @param config with the run's name. Errors: `PRL_CONFIG_INVALID` with the place of the key that cannot be. */
export function planHosts(config: RlConfig, sources: PlanSources): HostPlan {
  const { hosts, provenance } = sources;
  const trainer = oneWith("trainer", sources);
  const orchestrator = oneWith("orchestrator", sources);
  const samplers = hosts.host.filter(({ roles }) => roles.includes("inference"));
  if (samplers.length === 0) throw noHost("inference", sources);
  const workerHosts = hosts.host.filter(({ roles }) => roles.includes("env-worker"));
  const place = { trainer, orchestrator, samplers, workerHosts };
  refuseFirst(hostProblems(config, hosts, place), provenance);
  const name = config.run.name ?? "";
  const derived = networked(config, hosts, place);
  const part = (host: Host, rest: Omit<Part, "host" | "runDir" | "config" | "name">, own = derived): Part => ({
    ...rest,
    name: `${rest.component}-${rest.index}`,
    host,
    runDir: join(host.dir, host.name, name),
    config: ofHost(own, host),
  });
  const servers = Array.from({ length: config.inference.replicas }, (_, index) =>
    part(inTurns(samplers, index), { component: "inference", command: "inference", index, kind: "serve" }),
  );
  const worker = { component: "env-worker", command: "env-server", kind: "serve" } as const;
  const workers =
    workerHosts.length === 0
      ? Array.from({ length: ownEnvWorkers(config.orchestrator) }, (_, index) =>
          part(orchestrator, { ...worker, index }),
        )
      : remoteWorkers(config, hosts, workerHosts).map(({ host, listen }, index) =>
          part(host, { ...worker, index }, listening(derived, host, listen)),
        );
  const work = (component: "trainer" | "orchestrator", host: Host) =>
    part(host, { component, command: component, index: 0, kind: "work" });
  const parts = [...servers, ...workers, work("trainer", trainer), work("orchestrator", orchestrator)];
  return { parts, orchestrator, trainer, hasRemoteWorkers: workerHosts.length > 0 };
}

/** Where the other hosts reach the parts of a host. */
export function reachedAt({ address, internal_address: internal }: Host): string {
  return internal ?? address;
}

function inTurns(hosts: readonly Host[], index: number): Host {
  const host = hosts[index % hosts.length];
  if (host === undefined) throw new Error("no host has the role"); // It was refused before.
  return host;
}

interface RemoteWorker {
  readonly host: Host;
  /** `host:port` */
  readonly listen: string;
  readonly url: string;
}

/** `env_workers` of them in turns, and at least one on each host with the role. */
function remoteWorkers(
  { inference, orchestrator }: RlConfig,
  { first_port: first }: HostsFile,
  hosts: readonly Host[],
): RemoteWorker[] {
  const length = hosts.length === 0 ? 0 : Math.max(orchestrator.env_workers, hosts.length);
  return Array.from({ length }, (_, index) => {
    const host = inTurns(hosts, index);
    const listen = `${bracketed(reachedAt(host))}:${first + SERVERS_PORT + inference.replicas + index}`;
    return { host, listen, url: `${host.tls_cert === null ? "http" : "https"}://${listen}` };
  });
}

/** The config of an env worker on a host with that role. */
function listening(config: RlConfig, { tls_cert, tls_key }: Host, listen: string): RlConfig {
  const { orchestrator } = config;
  const remote = { ...orchestrator.remote_env_workers, connect: [], listen, tls_cert, tls_key };
  return { ...config, orchestrator: { ...orchestrator, remote_env_workers: remote } };
}

function oneWith(role: HostRole, sources: PlanSources): Host {
  const [first, second] = sources.hosts.host.filter(({ roles }) => roles.includes(role));
  if (first === undefined) throw noHost(role, sources);
  if (second === undefined) return first;
  const index = sources.hosts.host.indexOf(second);
  const place = placeOf(["host", index, "roles"], sources.hostsProvenance);
  const text = `${second.name} and ${first.name} both have ${role}: a run has one`;
  throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${text}`);
}

function noHost(role: HostRole, { hostsProvenance }: PlanSources): PrlError {
  const place = placeOf(["host", 0, "roles"], hostsProvenance);
  return new PrlError("PRL_CONFIG_INVALID", `${place}: no host has the role ${role}: give it to one`);
}

interface Places {
  readonly trainer: Host;
  readonly orchestrator: Host;
  readonly samplers: readonly Host[];
  readonly workerHosts: readonly Host[];
}

function* hostProblems(
  config: RlConfig,
  hosts: HostsFile,
  { trainer, orchestrator, samplers, workerHosts }: Places,
): Generator<PartsRefusal> {
  const where = "a run over ssh";
  yield* partsProblems(config, { where, instead: "use prl rl", cores: "set trainer.threads and inference.threads" });
  const { inference, ckpt, clean } = config;
  if (clean) {
    const text = `deletes on this machine only, not on the hosts: choose another run.name, or go on with --resume`;
    yield { key: ["clean"], text };
  }
  const [workers] = workerHosts;
  if (workers !== undefined && config.orchestrator.remote_env_workers.connect.length > 0) {
    const text = `names env workers that run already, and ${workers.name} has the role env-worker, whose workers the run starts: leave out one of them`;
    yield { key: ["orchestrator", "remote_env_workers", "connect"], text };
  }
  const batches = batchRanks(config.trainer);
  if (trainer !== orchestrator && batches > 1) {
    const text = `${config.trainer.ranks} take ${batches} batches a step, and the trainer (${trainer.name}) and the orchestrator (${orchestrator.name}) are on two hosts, between which batches go by grpc to one address: give one host both roles, or let all ranks share their bins (trainer.parallel)`;
    yield { key: ["trainer", "ranks"], text };
  }
  if (trainer !== orchestrator && !isShared(ckpt.path, hosts.shared)) {
    const there = hosts.shared.length === 0 ? "names none" : `names ${hosts.shared.join(", ")}`;
    const is = ckpt.path === null ? "is unset" : `${ckpt.path} is in no shared folder`;
    const text = `${is}, and the trainer (${trainer.name}) and the orchestrator (${orchestrator.name}) join their halves of a checkpoint in one folder that both see: set it to a folder in one that shared of the hosts file names (it ${there}), or give one host both roles`;
    yield { key: ["ckpt", "path"], text };
  }
  if (inference.replicas < samplers.length) {
    const text = `${inference.replicas} leaves hosts without work: ${samplers.length} have the role inference`;
    yield { key: ["inference", "replicas"], text };
  }
  const sharesHost = samplers.includes(trainer) || inference.replicas > samplers.length;
  if (sharesHost && inference.threads === null) {
    const what = samplers.includes(trainer) ? `the trainer and a server share ${trainer.name}` : "servers share hosts";
    yield { key: ["inference", "threads"], text: `is unset, and ${what}: each would take all cores` };
  }
  if (samplers.includes(trainer) && config.trainer.threads === null) {
    const text = `is unset, and the trainer shares ${trainer.name} with a server: each would take all cores`;
    yield { key: ["trainer", "threads"], text };
  }
}

function isShared(path: string | null, shared: readonly string[]): boolean {
  return path !== null && shared.some((folder) => !/^\.\.(\/|$)/u.test(relative(folder, path)));
}

/** The config of all parts: where they listen and how batches and weights travel. */
function networked(config: RlConfig, hosts: HostsFile, places: Places): RlConfig {
  const { first_port: first } = hosts;
  const { trainer, orchestrator, samplers, workerHosts } = places;
  const isOneHost = trainer === orchestrator && samplers.every((host) => host === trainer);
  const remote = config.orchestrator.remote_env_workers;
  const urlsOfWorkers = remoteWorkers(config, hosts, workerHosts).map(({ url }) => url);
  const connect = (port: number) => `${bracketed(reachedAt(trainer))}:${port}`;
  const { rollout_transport: batches, weight_broadcast: weights } = config;
  const serversPort = first + SERVERS_PORT;
  const urls = Array.from({ length: config.inference.replicas }, (_, index) => {
    return `http://${bracketed(reachedAt(inTurns(samplers, index)))}:${serversPort + index}`;
  });
  return {
    ...config,
    rollout_transport:
      trainer === orchestrator && batches.type === "filesystem"
        ? batches
        : { ...batches, type: "grpc", port: first, connect: connect(first) },
    weight_broadcast:
      isOneHost && weights.type === "filesystem"
        ? weights
        : { ...weights, type: "grpc", port: first + WEIGHTS_PORT, connect: connect(first + WEIGHTS_PORT) },
    inference: { ...config.inference, server: { ...config.inference.server, port: serversPort } },
    orchestrator: {
      ...config.orchestrator,
      client: { ...config.orchestrator.client, base_url: urls },
      remote_env_workers: urlsOfWorkers.length === 0 ? remote : { ...remote, connect: urlsOfWorkers },
    },
  };
}

/** The config of the parts on one host: they listen on its address, unless the config says where. */
function ofHost(config: RlConfig, host: Host): RlConfig {
  const listen = (given: string) => (given === LOOPBACK ? reachedAt(host) : given);
  const { inference, rollout_transport: batches, weight_broadcast: weights, trainer, orchestrator } = config;
  const outputDir = join(host.dir, host.name);
  return {
    ...config,
    output_dir: outputDir,
    trainer: { ...trainer, output_dir: outputDir },
    orchestrator: { ...orchestrator, output_dir: outputDir },
    inference: { ...inference, server: { ...inference.server, host: listen(inference.server.host) } },
    rollout_transport: { ...batches, host: listen(batches.host) },
    weight_broadcast: { ...weights, host: listen(weights.host) },
  };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
