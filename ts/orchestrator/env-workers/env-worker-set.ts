/**
 * The env workers of a run: which of them gets the next rollout, and which may get none.
 *
 * A rollout goes to the worker with the fewest under way. One that did not answer gets none until its `/health` answers again or another
 * process has taken its place. A source that is placed on workers of other machines runs on no other. A retired one gets none and keeps its connections until its rollouts have ended.
 *
 * A rollout that was lost with several workers may be what ended them. Such doubtful rollouts go to different workers, so that one that hangs or
 * crashes its worker does not take the others with it each time that all of them are tried again.
 */
import { setTimeout as sleep } from "node:timers/promises";

import { PrlError } from "../../errors.ts";
import { Connections } from "../../inference-client/index.ts";
import { Changes } from "../../async/changes.ts";

/** A worker by its place; a process that replaces another has another address. */
export interface EnvWorkerAddress {
  /** `env-worker-0` */
  readonly name: string;
  readonly url: string;
  /** The address and key of a worker on another machine (`remote-env-workers.ts`). */
  readonly remote?: RemoteDoor;
}

/** How the orchestrator gets into a worker on another machine, and for what. */
export interface RemoteDoor {
  /** The sources that run on workers of other machines; null: all. */
  readonly sources: readonly string[] | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Certificates of the authorities that the worker's must be of. */
  readonly ca?: string;
}

export interface EnvWorkerSetOptions {
  /** Most rollouts under way at one worker; further ones wait here. */
  connections: number;
  /** How long a rollout waits when no worker can take it; 0: it goes to one of them all the same. */
  waitMs: number;
}

const CONTROL_CONNECTIONS = 4;
/** A doubtful rollout waits so long for a worker without another one. Longer waits would hold up a run whose workers were lost by other causes. */
const APART_MS = 10_000;
const PROBE_INTERVAL_MS = 250;
const PROBE_DEADLINE_MS = 2_000;

export class EnvWorker {
  readonly address: EnvWorkerAddress;
  readonly rollouts: Connections;
  /** Separate connections, so that control requests never wait behind rollouts. */
  readonly control: Connections;
  inFlight = 0;
  /** Doubtful rollouts among those under way. */
  doubtful = 0;
  suspect = false;
  retired = false;

  constructor(address: EnvWorkerAddress, connections: number) {
    this.address = address;
    const { headers, ca } = address.remote ?? {};
    const door = { ...(headers === undefined ? {} : { headers }), ...(ca === undefined ? {} : { ca }) };
    this.rollouts = new Connections(address.url, { ...door, connections, bodyTimeout: 0, headersTimeout: 0 });
    this.control = new Connections(address.url, { ...door, connections: CONTROL_CONNECTIONS });
  }

  async close(): Promise<void> {
    await Promise.all([this.rollouts.destroy(), this.control.destroy()]);
  }
}

export class EnvWorkerSet {
  readonly #options: EnvWorkerSetOptions;
  readonly #closing = new AbortController();
  #workers: EnvWorker[] = [];
  /** Retired ones whose rollouts have not ended. */
  readonly #leaving = new Set<EnvWorker>();
  readonly #changes = new Changes();
  #turn = 0;

  constructor(addresses: readonly EnvWorkerAddress[], options: EnvWorkerSetOptions) {
    this.#options = options;
    this.update(addresses);
  }

  get size(): number {
    return this.#workers.length;
  }

  /** Rollouts that wait for a worker. */
  get waiting(): number {
    return this.#changes.waiting;
  }

  /** Rollouts under way by the name of the worker, retired ones included, those on other machines not: the launcher does not start them. */
  inFlight(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { address, inFlight } of [...this.#workers, ...this.#leaving]) {
      if (address.remote !== undefined) continue;
      counts[address.name] = (counts[address.name] ?? 0) + inFlight;
    }
    return counts;
  }

  /** Makes these the workers. Those that are there already stay as they are. */
  update(addresses: readonly EnvWorkerAddress[]): void {
    const kept = this.#workers.filter(({ address }) => addresses.some((one) => isSame(one, address)));
    const gone = this.#workers.filter((worker) => !kept.includes(worker));
    const added = addresses.filter((one) => !kept.some(({ address }) => isSame(one, address)));
    this.#workers = [...kept, ...added.map((address) => new EnvWorker(address, this.#options.connections))];
    for (const worker of gone) {
      worker.retired = true;
      this.#leaving.add(worker);
      this.#letGo(worker);
    }
    if (added.length > 0) this.#changes.announce();
  }

  /**
   * A worker for a rollout of the source, or for a question about its tasks; `release` it. Waits for one up to `waitMs` (PRL_PROCESS_DIED then); an abort
   * rejects with its reason. A doubtful rollout also waits for a worker without another one, for a while.
   */
  async take(source: string, signal: AbortSignal, isDoubtful = false): Promise<EnvWorker> {
    const begun = performance.now();
    const apartUntil = isDoubtful ? begun + APART_MS : begun;
    for (;;) {
      signal.throwIfAborted();
      const now = performance.now();
      const isApart = now < apartUntil;
      const worker = this.#best(source, isApart);
      if (worker !== undefined) {
        worker.inFlight += 1;
        if (isDoubtful) worker.doubtful += 1;
        return worker;
      }
      const left = (isApart ? apartUntil : begun + this.#options.waitMs) - now;
      if (left <= 0 || this.#closing.signal.aborted) {
        throw new PrlError("PRL_PROCESS_DIED", `no env worker answered for ${this.#options.waitMs / 1000} s`);
      }
      await this.#changes.next(left, signal);
    }
  }

  /** `isDoubtful`: as the worker was taken. */
  release(worker: EnvWorker, isDoubtful = false): void {
    worker.inFlight -= 1;
    if (isDoubtful) {
      worker.doubtful -= 1;
      this.#changes.announce();
    }
    this.#letGo(worker);
  }

  /** The worker did not answer: it gets nothing until it does. */
  suspect(worker: EnvWorker): void {
    if (worker.suspect || worker.retired || this.#closing.signal.aborted) return;
    worker.suspect = true;
    void this.#probe(worker);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#changes.announce();
    await Promise.all([...this.#workers, ...this.#leaving].map((worker) => worker.close()));
  }

  #best(source: string, isApart: boolean): EnvWorker | undefined {
    const placed = this.#workers.filter(({ address }) => isFor(source, address.remote?.sources));
    const elsewhere = placed.filter(({ address }) => address.remote !== undefined);
    const fitting = elsewhere.length > 0 ? elsewhere : placed;
    const trusted = fitting.filter(({ suspect }) => !suspect);
    const answering = trusted.length > 0 || this.#options.waitMs > 0 ? trusted : fitting;
    const able = isApart ? answering.filter(({ doubtful }) => doubtful === 0) : answering;
    const least = Math.min(...able.map(({ inFlight }) => inFlight));
    const idlest = able.filter(({ inFlight }) => inFlight === least);
    return idlest[this.#turn++ % Math.max(1, idlest.length)];
  }

  /** Ends when the worker answers, or has left the set. */
  async #probe(worker: EnvWorker): Promise<void> {
    const closing = this.#closing.signal;
    while (!worker.retired && !closing.aborted) {
      try {
        await sleep(PROBE_INTERVAL_MS, undefined, { signal: closing });
        const signal = AbortSignal.timeout(PROBE_DEADLINE_MS);
        const { statusCode, body } = await worker.control.request({ method: "GET", path: "/health", signal });
        await body.dump();
        if (statusCode !== 200) continue;
        worker.suspect = false;
        this.#changes.announce();
        return;
      } catch {
        // It is not there yet.
      }
    }
  }

  #letGo(worker: EnvWorker): void {
    if (!worker.retired || worker.inFlight > 0) return;
    this.#leaving.delete(worker);
    worker.close().catch(() => undefined);
  }
}

/** Workers of this machine have every source. */
function isFor(source: string, sources: readonly string[] | null | undefined): boolean {
  return sources === undefined || sources === null || sources.includes(source);
}

function isSame(a: EnvWorkerAddress, b: EnvWorkerAddress): boolean {
  return a.name === b.name && a.url === b.url;
}
