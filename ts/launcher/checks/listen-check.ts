/** Checks, before a run starts, that it can listen where its config says, by listening there for a moment. */
import { createServer } from "node:net";

import { formatPath, type KeyPath, placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { messageOf, PrlError } from "../../errors.ts";

/** Limit of the wait for a name server. */
const DEADLINE_MS = 10_000;
const LOOPBACK = "127.0.0.1";
/** Addresses that stand for all of the machine's. */
const ANY_HOST: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);
/** Orchestrator, trainer, launcher and sandbox daemon. */
const METRICS_PORTS = 4;

interface Listener {
  readonly host: string;
  readonly port: number;
  /** The key of the host, and of the port. */
  readonly hostKey: KeyPath;
  readonly portKey: KeyPath;
}

/** @throws PrlError `PRL_CONFIG_INVALID` naming the key of the host or of the port that cannot be listened on */
export async function checkListeners(config: RlConfig, provenance: Provenance | undefined): Promise<void> {
  const listeners = listenersOf(config);
  for (const [index, listener] of listeners.entries()) {
    const rival = listeners.slice(0, index).find((other) => isSamePlace(other, listener));
    if (rival === undefined) continue;
    const text = `port ${listener.port} is wanted by ${formatPath(rival.portKey)} too: ${adviceFor(listener)}`;
    throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(listener.portKey, provenance)}: ${text}`);
  }
  for (const listener of listeners) {
    const problem = await listenProblem(listener);
    if (problem === null) continue;
    const key = problem.about === "port" ? listener.portKey : listener.hostKey;
    throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${problem.text}`);
  }
}

/** Ports of metrics are counted from the one that is named, so 0 is no choice there. */
function adviceFor({ portKey }: Listener): string {
  return portKey[0] === "monitors" ? "choose another" : "choose another, or 0 for any";
}

function isSamePlace(one: Listener, other: Listener): boolean {
  const hosts = [one.host, other.host];
  const isShared = one.host === other.host || hosts.some((host) => ANY_HOST.has(host));
  return one.port === other.port && one.port !== 0 && isShared;
}

function listenersOf(config: RlConfig): Listener[] {
  const at = (block: KeyPath, host: string, port: number): Listener => ({
    host,
    port,
    hostKey: [...block, "host"],
    portKey: [...block, "port"],
  });
  const { server, replicas } = config.inference;
  const ports = server.port === 0 ? [0] : Array.from({ length: replicas }, (_, index) => server.port + index);
  const startsServers = config.orchestrator.client.base_url.length === 0;
  const metrics = config.monitors.prometheus?.port ?? null;
  return [
    ...(startsServers ? ports.map((port) => at(["inference", "server"], server.host, port)) : []),
    ...(["rollout_transport", "weight_broadcast"] as const)
      .filter((block) => config[block].type === "grpc")
      .map((block) => at([block], config[block].host, config[block].port)),
    ...(metrics === null
      ? []
      : Array.from({ length: METRICS_PORTS }, (_, i) => at(["monitors", "prometheus"], LOOPBACK, metrics + i))),
  ];
}

interface ListenProblem {
  readonly about: "host" | "port";
  readonly text: string;
}

/** Null where a server can listen; the port is free again afterwards. */
async function listenProblem(listener: Listener): Promise<ListenProblem | null> {
  const { host, port } = listener;
  const server = createServer();
  let timer: NodeJS.Timeout | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(() => reject(new Error(`no name server answered for ${host}`)), DEADLINE_MS);
      server.once("error", reject);
      server.listen({ host, port }, resolve);
    });
    return null;
  } catch (error) {
    return problemOf(error, listener);
  } finally {
    clearTimeout(timer);
    await new Promise((resolve) => void server.close(resolve));
  }
}

function problemOf(error: unknown, listener: Listener): ListenProblem {
  const { host, port } = listener;
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const reason = messageOf(error);
  if (code === "EADDRINUSE") return { about: "port", text: `port ${port} of ${host} is taken: ${adviceFor(listener)}` };
  if (code === "EACCES") return { about: "port", text: `port ${port} may not be listened on: choose one above 1023` };
  if (code === "EADDRNOTAVAIL") return { about: "host", text: `${JSON.stringify(host)} is no address of this machine` };
  return { about: "host", text: `${JSON.stringify(host)} cannot be listened on: ${reason}` };
}
