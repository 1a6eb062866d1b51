/**
 * Requests between processes: each takes a while from the seed, may be late, lost on its way back, or repeated, and breaks when the process that
 * answers dies.
 */
import { PrlError } from "../../../ts/errors.ts";
import type { SimulatedProcess, World } from "../world/world.ts";

/** Answers of a process, by the name of the request. */
export type Handlers = Record<string, (...args: never[]) => Promise<unknown>>;

interface Server {
  readonly process: SimulatedProcess;
  readonly handlers: Handlers;
}

export class Network {
  /** Longest further delay of a message (ms). */
  slowMs = 0;
  /** Shares of answers that are lost, and of requests that come twice. */
  lost = 0;
  repeated = 0;
  /**
   * A request has come twice, or after its sender was killed: then a server may be resumed by an old request, for example. What a dead process sent
   * is still on its way.
   */
  hasOldRequest = false;
  readonly #world: World;
  readonly #servers = new Map<string, Server>();

  constructor(world: World) {
    this.#world = world;
  }

  /** The current process answers there from now on. */
  listen(url: string, handlers: Handlers): void {
    const process = this.#world.current;
    if (process === undefined) throw new Error("only processes listen");
    this.#servers.set(url, { process, handlers });
  }

  /** Errors: PRL_INFERENCE_UNREACHABLE without an answer, PRL_INFERENCE_TIMEOUT after the deadline; those of the handler. */
  call(url: string, name: string, args: readonly unknown[], deadlineMs = Infinity): Promise<unknown> {
    const world = this.#world;
    const caller = world.current ?? null;
    const server = this.#servers.get(url);
    return new Promise((resolve, reject) => {
      const back = (settle: () => void): void => void world.schedule(this.#delay(), caller, settle);
      const broken = (why: string) => new PrlError("PRL_INFERENCE_UNREACHABLE", `${url} ${name}: ${why}`);
      if (server === undefined) return back(() => reject(broken("refused")));
      const { process } = server;
      const unwatch = this.#watch(process, caller, () => reject(broken("the connection broke")));
      const isLost = world.rng.next() < this.lost;
      const times = world.rng.next() < this.repeated ? 2 : 1;
      if (times > 1) this.hasOldRequest = true;
      for (let time = 0; time < times; time++) {
        world.schedule(this.#delay(), process, () => {
          if (caller?.state === "dead") this.hasOldRequest = true;
          const handler = server.handlers[name];
          if (handler === undefined) return world.fail(new Error(`${url} does not know ${name}`));
          const answered = (settle: () => void): void => {
            unwatch();
            back(settle);
          };
          handler(...(args as never[])).then(
            (value) => answered(() => (isLost ? reject(broken("the answer was lost")) : resolve(value))),
            (error: unknown) => answered(() => reject(error)),
          );
        });
      }
      if (deadlineMs < Infinity)
        world.schedule(deadlineMs, caller, () =>
          reject(new PrlError("PRL_INFERENCE_TIMEOUT", `${url} ${name}: no answer within ${deadlineMs} ms`)),
        );
    });
  }

  /** Calls `broken` in the caller when the process is gone, until the returned function is called. */
  #watch(process: SimulatedProcess, caller: SimulatedProcess | null, broken: () => void): () => void {
    const later = (): void => void this.#world.schedule(this.#delay(), caller, broken);
    if (process.state === "dead") later();
    else process.connections.add(later);
    return () => void process.connections.delete(later);
  }

  #delay(): number {
    return this.#world.delay(0.05, 3) + this.#world.delay(0, this.slowMs);
  }
}
