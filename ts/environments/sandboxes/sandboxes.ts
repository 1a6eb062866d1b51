/**
 * Sandboxes for environments: the requirements, this process's source of sandboxes, and the sandboxes of one rollout.
 *
 * A required sandbox is asked for when the rollout is dispatched, so that it starts while the first tokens are sampled, and is closed when
 * the rollout has ended, in any way. A failure of the infrastructure rejects with a code whose class is `infra` (`episode.ts`).
 */
import { setTimeout as sleep } from "node:timers/promises";

import { atMost } from "../../async/deadline.ts";
import { type ErrorCode, PrlError } from "../../errors.ts";
import {
  type Box,
  type BoxRequest,
  type Network,
  type RunLimits,
  type SandboxHealth,
  SandboxPool,
  type StartOptions,
  type TlsOptions,
} from "../../sandbox/index.ts";

import { sharedInterceptionServer } from "../interception/shared-server.ts";

/** The held sandbox that each rollout of an environment gets. */
export interface SandboxRequirement extends Pick<
  BoxRequest,
  "profile" | "limits" | "network" | "env" | "files" | "image" | "minIsolation" | "queueMs"
> {
  /** Port `MODEL_PORT` of its loopback is this process's interception server, where programs find the policy (`agent`). */
  readonly model?: boolean;
}

export const MODEL_PORT = 8700;

/** Requirements of an environment; checked before the run. */
export interface Requirements {
  /** A held sandbox for each rollout: true with the defaults, or as described. `"pool"`: only `sandboxes`, for programs of one run each. */
  readonly sandbox?: true | "pool" | SandboxRequirement;
}

/** Joins two requirements; where both describe a sandbox, the second one wins. */
export function combinedRequirements(first: Requirements = {}, second: Requirements = {}): Requirements {
  if (typeof first.sandbox !== "object") return { ...first, ...second };
  const described = typeof second.sandbox === "object" ? second.sandbox : {};
  return { ...first, ...second, sandbox: { ...first.sandbox, ...described } };
}

/** The sandbox part of the context of rollouts, rewards and checks. */
export interface SandboxAccess {
  /** The rollout's box, with everything that the rollout left in it. PRL_ENVIRONMENT_INVALID when the environment requires none. */
  readonly sandbox: () => Promise<Box>;
  /** The pool, for programs that need a sandbox each. PRL_ENVIRONMENT_INVALID when the environment does not require sandboxes. */
  readonly sandboxes: () => Promise<SandboxPool>;
}

export interface SandboxSettings extends StartOptions {
  /** Addresses of running daemons. Default: a daemon of this process, started at the first request for a sandbox. */
  addresses?: readonly string[];
  token?: string;
  tls?: TlsOptions;
  /** Limits of boxes, where the environment gives none. */
  limits?: RunLimits;
}

/** How long a rollout waits for a free place: others need about this long to end. */
const QUEUE_MS = 120_000;
const CLOSE_DEADLINE_MS = 5_000;
const HEALTH_DEADLINE_MS = 1_000;
/** A daemon that died is replaced by the launcher within seconds. */
const REPLACED_WITHIN_MS = 15_000;
const REPLACED_POLL_MS = 250;
const GONE: ReadonlySet<string> = new Set<ErrorCode>([
  "PRL_SANDBOX_UNREACHABLE",
  "PRL_SANDBOX_CONNECTION_LOST",
  "PRL_SANDBOX_DAEMON_EXITED",
  "PRL_SANDBOX_DAEMON_RESTARTED",
  "PRL_SANDBOX_DRAINING",
]);

/** The pool of a process, opened when it is first needed; it starts its own daemon again when that has died. */
export class SandboxSource {
  readonly limits: RunLimits;
  readonly #settings: SandboxSettings;
  #pool: Promise<SandboxPool> | null = null;

  constructor(settings: SandboxSettings = {}) {
    this.#settings = settings;
    this.limits = settings.limits ?? {};
  }

  /**
   * Who connects the programs of its sandboxes with a service on our loopback. A daemon behind a Unix socket is on this machine, and connects by
   * itself, which is cheaper. One on TCP may be elsewhere, even behind a loopback address, and opens only what its operator names.
   */
  get connectedBy(): "daemon" | "caller" {
    return (this.#settings.addresses ?? []).every((address) => /^(unix:|\/)/u.test(address)) ? "daemon" : "caller";
  }

  /** Errors: those of `SandboxPool.start` and `SandboxPool.connect`; the next call tries again. */
  async pool(): Promise<SandboxPool> {
    this.#pool ??= this.#open();
    return this.#pool;
  }

  async #open(): Promise<SandboxPool> {
    const { addresses = [], token, tls, limits: _, minIsolation, ...settings } = this.#settings;
    const identity = { ...(token === undefined ? {} : { token }), ...(tls === undefined ? {} : { tls }) };
    const isolation = minIsolation === undefined ? {} : { minIsolation };
    try {
      return addresses.length === 0
        ? await SandboxPool.start({ ...settings, ...isolation })
        : await SandboxPool.connect({ addresses, ...identity, ...isolation });
    } catch (error) {
      this.#pool = null;
      throw error;
    }
  }

  /** Load of this process's own daemon; null without one, or when it does not answer in time. */
  async localHealth(): Promise<SandboxHealth | null> {
    if ((this.#settings.addresses ?? []).length > 0 || this.#pool === null) return null;
    const health = this.#pool.then((pool) => pool.health()).catch(() => null);
    return (await atMost(health, HEALTH_DEADLINE_MS)) ?? null;
  }

  async close(): Promise<void> {
    const pool = this.#pool;
    this.#pool = null;
    await (await pool?.catch(() => null))?.close();
  }
}

/** The default source of sandboxes: a daemon that dies with this process. */
export const OWN_SANDBOXES = new SandboxSource();

/** The sandboxes of one rollout. */
export class RolloutSandboxes {
  /** For the contexts of the environment's functions. */
  readonly access: SandboxAccess;
  readonly #source: SandboxSource;
  readonly #environment: string;
  readonly #required: Requirements["sandbox"];
  #box: Promise<Box> | null = null;
  #ready: Box | null = null;
  #closed = false;
  #waiting = 0;
  #waitedMs = 0;
  #since = 0;

  constructor(source: SandboxSource, environment: { name: string; requires?: Requirements }) {
    this.#source = source;
    this.#environment = environment.name;
    this.#required = environment.requires?.sandbox;
    this.access = {
      sandbox: async () => {
        if (this.#required === undefined || this.#required === "pool") throw this.#missing("sandbox: true");
        return this.#timed(this.#hold());
      },
      sandboxes: async () => {
        if (this.#required === undefined) throw this.#missing('sandbox: "pool"');
        return this.#timed(this.#source.pool());
      },
    };
  }

  /** Whether the environment requires sandboxes. */
  get required(): boolean {
    return this.#required !== undefined;
  }

  /** Seconds that the rollout's code has waited for sandboxes; the start of one while tokens are sampled does not count. */
  get waitedSeconds(): number {
    return this.#waitedMs / 1000;
  }

  /** Asks for the box, or opens the pool, without waiting; later waits get its failures. */
  request(): void {
    if (this.#required === "pool") this.#source.pool().catch(() => undefined);
    else if (this.#required !== undefined) this.#hold().catch(() => undefined);
  }

  /** Never rejects. A sandbox that is still being made is closed when it is ready. */
  async close(): Promise<void> {
    this.#closed = true;
    if (this.#ready === null) return;
    await atMost(release(this.#ready), CLOSE_DEADLINE_MS);
  }

  #hold(): Promise<Box> {
    this.#box ??= this.#create();
    return this.#box;
  }

  async #create(): Promise<Box> {
    const { model = false, ...asked } = typeof this.#required === "object" ? this.#required : {};
    const network = model ? { network: await this.#towardsModel(asked.network) } : {};
    const limits = { ...this.#source.limits, ...asked.limits };
    const labels = { environment: this.#environment };
    const box = await this.#whenReplaced(async () => {
      const pool = await this.#source.pool();
      return pool.create({ queueMs: QUEUE_MS, ...asked, ...network, limits, labels });
    });
    this.#ready = box;
    if (this.#closed) {
      await release(box);
      throw new PrlError("PRL_EPISODE_CANCELLED", "the rollout ended before its sandbox was there");
    }
    return box;
  }

  /** Waits for a daemon that is being replaced. This is safe, because nothing has run in the missing sandbox. */
  async #whenReplaced(create: () => Promise<Box>): Promise<Box> {
    const latest = performance.now() + REPLACED_WITHIN_MS;
    for (;;) {
      try {
        return await create();
      } catch (error) {
        const isGone = error instanceof PrlError && GONE.has(error.code);
        if (!isGone || this.#closed || performance.now() > latest) throw error;
        await sleep(REPLACED_POLL_MS);
      }
    }
  }

  async #towardsModel(network: Network = "none"): Promise<Network> {
    const { address } = await sharedInterceptionServer();
    const own = network === "none" ? {} : network;
    const model = { listen: MODEL_PORT, to: address, by: this.#source.connectedBy };
    return { ...own, forward: [...(own.forward ?? []), model] };
  }

  /** Waits at the same time count once. */
  async #timed<Result>(work: Promise<Result>): Promise<Result> {
    if (this.#waiting++ === 0) this.#since = performance.now();
    try {
      return await work;
    } finally {
      if (--this.#waiting === 0) this.#waitedMs += performance.now() - this.#since;
    }
  }

  #missing(needed: string): PrlError {
    return new PrlError(
      "PRL_ENVIRONMENT_INVALID",
      `environment "${this.#environment}" uses a sandbox and does not say so: add requires: { ${needed} }`,
    );
  }
}

/** A daemon that is gone has ended the sandbox with it; a daemon that cannot be reached ends it when its lease runs out. */
async function release(box: Box): Promise<void> {
  await box.close().catch(() => undefined);
}
