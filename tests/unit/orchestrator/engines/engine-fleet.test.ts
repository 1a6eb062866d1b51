/** The engine fleet beside a model: engines die, hang, are started anew or replaced, fail swaps, while versions come and rollouts are taken. */
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { PrlError } from "../../../../ts/errors.ts";
import { chooseEngine } from "../../../../ts/orchestrator/engines/engine-choice.ts";
import { EngineFleet, type EngineLease } from "../../../../ts/orchestrator/engines/engine-fleet.ts";
import type { PlacedEngine } from "../../../../ts/orchestrator/index.ts";
import { Server, weights } from "./server.ts";
import { IS_LONG } from "../../../support/form.ts";

const TIMES = { probeMs: 5, swapMs: 60, patienceMs: 3_000, backoffMs: 5 };
/** Within this a fleet has noticed whatever happened to an engine, also on a machine under load. */
const NOTICED_MS = 30_000;
const ENGINES = 3;
const NEVER = new AbortController().signal;

class Real {
  readonly servers = Array.from({ length: ENGINES }, (_, i) => new Server(`http://engine-${i}`));
  readonly errors: unknown[] = [];
  readonly fleet: EngineFleet;
  version = 0;
  readonly rollouts: { lease: EngineLease; server: Server; life: number }[] = [];

  constructor(times = TIMES) {
    const metrics = { log: () => {}, event: () => {}, close: () => {} };
    this.fleet = new EngineFleet(this.placed(), { maxMeanAbs: 0, metrics, times });
  }

  placed(): PlacedEngine[] {
    return this.servers.map((server, i) => server.placed(`inference-${i}`));
  }

  serverOf({ url }: EngineLease): Server {
    const server = this.servers.find((one) => one.url === url);
    if (server === undefined) throw new Error(`there is no ${url}`);
    return server;
  }

  /** What becomes true when nothing happens for a while: those that are well are in service, with the current weights. */
  async settled(): Promise<void> {
    const well = this.servers.filter(({ isUp, isHung }) => isUp && !isHung);
    const holds = `${this.version} d${this.version}`;
    await until(
      () => this.fleet.serving === well.length && well.every((one) => one.holds === holds && !one.isPaused),
      `${well.length} engines in service with ${holds}`,
    );
    // Rollouts are lost, or where they were put: on an engine that has been there ever since.
    const isWell = ({ lease, server, life }: Real["rollouts"][number]) =>
      lease.lost !== null || (well.includes(server) && server.life === life);
    await until(() => this.rollouts.every(isWell), "rollouts of engines that died are lost");
    expect(this.errors).toEqual([]);
  }
}

async function until(isTrue: () => boolean, what: string): Promise<void> {
  for (const end = performance.now() + NOTICED_MS; !isTrue(); await sleep(2)) {
    if (performance.now() > end) throw new Error(`not within ${NOTICED_MS} ms: ${what}`);
  }
}

type Command = fc.AsyncCommand<object, Real>;
const command = (name: string, run: (real: Real) => Promise<void> | void): Command => ({
  check: () => true,
  run: async (_model, real) => run(real),
  toString: () => name,
});
const onServer = (name: string, act: (server: Server, real: Real) => void) =>
  fc.nat(ENGINES - 1).map((i) =>
    command(`${name} ${i}`, (real) => {
      const server = real.servers[i];
      if (server !== undefined) act(server, real);
    }),
  );
/** Rollouts and versions need one engine that is well. */
const someoneIsWell = ({ servers }: Real) => servers.some(({ isUp, isHung }) => isUp && !isHung);

const commands = [
  onServer("kill", (server) => (server.isUp = false)),
  onServer("start anew in the same place", (server) => server.startAnew()),
  onServer("replace", (server, real) => {
    server.startAnew();
    real.fleet.update(real.placed());
  }),
  onServer("hang", (server) => (server.isHung = true)),
  onServer("wake up", (server) => (server.isHung = false)),
  onServer("be paused by a late request", (server) => (server.isPaused = true)),
  onServer("fail two swaps", (server) => (server.failures = 2)),
  onServer("swap slowly", (server) => (server.swapMs = 100)),
  onServer("swap quickly", (server) => (server.swapMs = 0)),
  fc.constant(command("wait", () => sleep(15))),
  fc.constant(command("settle", async (real) => real.settled())),
  fc.constant(
    command("next version", async (real) => {
      if (!someoneIsWell(real)) return;
      real.version += 1;
      await real.fleet.adopt(weights(real.version), NEVER);
    }),
  ),
  fc.constant(
    command("rollout", async (real) => {
      if (!someoneIsWell(real)) return;
      const lease = await real.fleet.take(`task ${real.rollouts.length}`, NEVER);
      const server = real.serverOf(lease);
      real.rollouts.push({ lease, server, life: server.life });
    }),
  ),
  fc.constant(command("end of a rollout", (real) => real.rollouts.shift()?.lease.release())),
  onServer("rollout that reaches no server", (server, real) => {
    const found = real.rollouts.find(({ lease }) => lease.url === server.url);
    void found?.lease.suspect();
  }),
];

describe("an engine fleet", () => {
  test("gives rollouts to engines with the current weights only, whatever becomes of engines", async () => {
    const property = fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: "+1" }), async (sequence) => {
      const real = new Real();
      real.fleet.start((error) => real.errors.push(error));
      try {
        await real.fleet.adopt(weights(0), NEVER);
        await fc.asyncModelRun(() => ({ model: {}, real }), sequence);
        for (const server of real.servers) if (!server.isUp || server.isHung) server.startAnew();
        real.fleet.update(real.placed());
        await real.settled();
      } finally {
        await real.fleet.stop();
      }
    });
    await fc.assert(property, { numRuns: IS_LONG ? 400 : 25 });
  });

  test("a rollout's engine has the current weights at the moment that it is taken", async () => {
    const property = fc.asyncProperty(fc.array(fc.nat(ENGINES - 1), { maxLength: 12 }), async (deaths) => {
      const real = new Real();
      real.fleet.start((error) => real.errors.push(error));
      await real.fleet.adopt(weights(0), NEVER);
      for (const i of deaths) {
        real.servers[i]?.startAnew();
        real.fleet.update(real.placed());
        for (let n = 0; n < 8; n++) {
          const lease = await real.fleet.take(`${n}`, NEVER);
          expect(real.serverOf(lease)).toMatchObject({ holds: `${real.version} d${real.version}`, isPaused: false });
          lease.release();
        }
        real.version += 1;
        await real.fleet.adopt(weights(real.version), NEVER);
      }
      await real.fleet.stop();
      expect(real.errors).toEqual([]);
    });
    await fc.assert(property, { numRuns: 20 });
  });

  test("an engine that is slow to swap is awaited, then left out, and comes back with the newest version", async () => {
    // Long enough for the other engines on a machine under load.
    const swapMs = 2_000;
    const real = new Real({ ...TIMES, swapMs });
    real.fleet.start((error) => real.errors.push(error));
    await real.fleet.adopt(weights(0), NEVER);
    const [slow] = real.servers;
    const held = await Promise.all(Array.from({ length: 30 }, (_, i) => real.fleet.take(`${i}`, NEVER)));
    if (slow !== undefined) slow.swapMs = 2 * swapMs;
    const startedAt = performance.now();
    real.version = 1;
    await real.fleet.adopt(weights(1), NEVER);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(swapMs - 5);
    expect(real.fleet.serving).toBe(ENGINES - 1);
    for (const lease of held) expect(lease.lost !== null).toBe(lease.url === slow?.url);
    if (slow !== undefined) slow.swapMs = 0;
    real.version = 2;
    await real.fleet.adopt(weights(2), NEVER);
    await real.settled();
    await real.fleet.stop();
  });

  test("an engine whose swaps fail is tried again after pauses that double", async () => {
    const backoffMs = 40;
    const server = new Server("http://engine-0");
    const metrics = { log: () => {}, event: () => {}, close: () => {} };
    const placed = server.placed("inference-0");
    const { updateWeights } = placed.engine.admin;
    const tries: number[] = [];
    placed.engine.admin.updateWeights = async (...asked) => {
      tries.push(performance.now());
      return updateWeights(...asked);
    };
    const fleet = new EngineFleet([placed], { maxMeanAbs: 0, metrics, times: { ...TIMES, backoffMs } });
    fleet.start(() => undefined);
    server.failures = 3;
    await fleet.adopt(weights(0), NEVER);
    const pauses = tries.slice(1).map((at, i) => at - (tries[i] ?? 0));
    expect(pauses).toHaveLength(3);
    pauses.forEach((pause, i) => expect(pause).toBeGreaterThanOrEqual(backoffMs * 2 ** i - 1));
    await fleet.stop();
  });

  test("an engine that takes no more requests when its canary comes is tried again, and ends no run", async () => {
    const metrics = { log: () => {}, event: () => {}, close: () => {} };
    const placed = new Server("http://engine-0").placed("inference-0");
    const { promptLogprobs } = placed.engine.admin;
    let refusals = 2;
    placed.engine.admin.promptLogprobs = async (...asked) => {
      if (refusals-- > 0) throw new PrlError("PRL_INFERENCE_RATE_LIMIT", "status 429: too many requests");
      return promptLogprobs(...asked);
    };
    const errors: unknown[] = [];
    const fleet = new EngineFleet([placed], { maxMeanAbs: 0, metrics, times: TIMES });
    fleet.start((error) => errors.push(error));
    await fleet.adopt(weights(1), NEVER);
    expect([fleet.serving, errors]).toEqual([1, []]);
    await fleet.stop();
  });

  test.each(["its swap", "a probe"])(
    "an event of %s that cannot be written ends the run with that error",
    async (when) => {
      const full = new PrlError("PRL_IO", "cannot append to events.jsonl");
      let isFull = false;
      const metrics = {
        log: () => {},
        event() {
          if (isFull) throw full;
        },
        close: () => {},
      };
      const server = new Server("http://engine-0");
      const errors: unknown[] = [];
      const fleet = new EngineFleet([server.placed("inference-0")], { maxMeanAbs: 0, metrics, times: TIMES });
      fleet.start((error) => errors.push(error));
      await fleet.adopt(weights(0), NEVER);
      isFull = true;
      if (when === "its swap") server.failures = 1;
      else server.isUp = false;
      const adopting = when === "its swap" ? fleet.adopt(weights(1), NEVER) : Promise.resolve();
      await until(() => errors.length > 0, "the run has failed");
      expect(errors[0]).toBe(full);
      await fleet.stop();
      await adopting.catch(() => undefined);
    },
  );

  test("weights that some engine will never have are passed over when none has them, and the next ones bring all back", async () => {
    const real = new Real();
    const released: number[] = [];
    const next = (version: number) => {
      real.version = version;
      const own = weights(version, () => released.push(version));
      return real.fleet.adopt(own, NEVER);
    };
    real.fleet.start((error) => real.errors.push(error));
    await next(0);
    for (const server of real.servers) server.neverHas = 1;
    await expect(next(1)).rejects.toMatchObject({ code: "PRL_WEIGHTS_SUPERSEDED" });
    expect(released).toEqual([0]);
    await next(2);
    await real.settled();
    for (const server of real.servers.slice(1)) server.neverHas = 3;
    await next(3);
    expect(real.fleet.engines.map(({ engine }) => engine.url)).toEqual([real.servers[0]?.url]);
    await next(4);
    await real.settled();
    await real.fleet.stop();
    expect([released, real.errors]).toEqual([[0, 1, 2, 3, 4], []]);
  });

  test("weights are released when the next ones have come, and the last ones at the end", async () => {
    const real = new Real();
    const released: number[] = [];
    const adopt = (version: number) =>
      real.fleet.adopt(
        weights(version, () => released.push(version)),
        NEVER,
      );
    real.fleet.start((error) => real.errors.push(error));
    await adopt(0);
    expect(released).toEqual([]);
    await adopt(1);
    await adopt(2);
    expect(released).toEqual([0, 1]);
    await real.fleet.stop();
    expect([released, real.errors]).toEqual([[0, 1, 2], []]);
  });

  test("no engine in service ends the run by its name, and so does one that never takes the weights", async () => {
    const impatient = { ...TIMES, patienceMs: 50 };
    const metrics = { log: () => {}, event: () => {}, close: () => {} };
    const server = new Server("http://engine-0");
    const errors: unknown[] = [];
    const fleet = new EngineFleet([server.placed("inference-0")], { maxMeanAbs: 0, metrics, times: impatient });
    fleet.start((error) => errors.push(error));
    await fleet.adopt(weights(0), NEVER);
    server.isUp = false;
    await until(() => fleet.serving === 0, "it is out");
    await expect(fleet.take("a", NEVER)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
    expect(errors).toMatchObject([{ code: "PRL_INFERENCE_UNREACHABLE" }]);
    await fleet.stop();

    for (const code of ["PRL_INFERENCE_FAILED", "PRL_WEIGHTS_IO"] as const) {
      const broken = new Server("http://engine-1");
      broken.failure = code;
      const second = new EngineFleet([broken.placed("inference-0")], { maxMeanAbs: 0, metrics, times: TIMES });
      broken.failures = 3;
      const failed = new Promise((resolve) => second.start(resolve));
      // It gets better after three failures, and then not again.
      await second.adopt(weights(0), NEVER);
      broken.failures = Infinity;
      second.adopt(weights(1), NEVER).catch(() => undefined);
      expect(await failed).toMatchObject({ code, message: "out of memory" });
      await second.stop();
    }
  });

  test(
    "an engine that answers and never has the weights in time is not awaited for ever",
    { timeout: 10_000 },
    async () => {
      const metrics = { log: () => {}, event: () => {}, close: () => {} };
      const placed = new Server("http://engine-0").placed("inference-0");
      let tries = 0;
      placed.engine.admin.updateWeights = async (_weights, signal) => {
        tries += 1;
        // The last one lasts as long as the client's deadline lets it.
        if (tries > 8) await sleep(600_000, undefined, { signal });
        throw new PrlError("PRL_INFERENCE_TIMEOUT", "no answer in time");
      };
      const times = { ...TIMES, patienceMs: 500, backoffMs: 0 };
      const fleet = new EngineFleet([placed], { maxMeanAbs: 0, metrics, times });
      const errors: unknown[] = [];
      fleet.start((error) => errors.push(error));
      await expect(fleet.adopt(weights(0), NEVER)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
      expect(errors).toMatchObject([{ code: "PRL_INFERENCE_UNREACHABLE" }]);
      expect(tries).toBe(9);
      await fleet.stop();
    },
  );

  test("a canary out of band is the run's error, but not of an engine that was started anew meanwhile", async () => {
    const real = new Real();
    const [server] = real.servers;
    if (server === undefined) throw new Error("there is no server");
    real.fleet.start((error) => real.errors.push(error));
    const placed = { ...server.placed("inference-0"), identity: "another" };
    const { resume } = placed.engine.admin;
    let restarts = 1;
    placed.engine.admin.resume = async (signal) => {
      await resume(signal);
      // Between swap and canary.
      if (restarts-- > 0) server.startAnew();
    };
    real.fleet.update([placed]);
    await real.fleet.adopt(weights(0), NEVER);
    expect(real.errors).toEqual([]);
    placed.engine.admin.promptLogprobs = async () => Float32Array.of(0, -5);
    const failed = new Promise((resolve) => real.fleet.start(resolve));
    real.fleet.adopt(weights(1), NEVER).catch(() => undefined);
    expect(await failed).toMatchObject({ code: "PRL_CANARY_OUT_OF_BAND" });
    await real.fleet.stop();
  });
});

describe("the choice of an engine", () => {
  const candidates = (loads: readonly number[]) => loads.map((inFlight, i) => ({ name: `inference-${i}`, inFlight }));

  test("is the same for a key while there is room, spreads keys, and moves only those of an engine that goes", () => {
    const keys = Array.from({ length: 3_000 }, (_, i) => `source ${i}`);
    const four = candidates([0, 0, 0, 0]);
    const chosen = keys.map((key) => chooseEngine(key, four)?.name);
    for (const { name } of four) {
      const share = chosen.filter((one) => one === name).length / keys.length;
      expect(share).toBeGreaterThan(0.22);
      expect(share).toBeLessThan(0.28);
    }
    const three = four.slice(0, 3);
    for (const [i, key] of keys.entries()) {
      if (chosen[i] !== "inference-3") expect(chooseEngine(key, three)?.name).toBe(chosen[i]);
    }
  });

  test("never overloads one beyond a quarter above the mean while others have less", () => {
    const property = fc.property(fc.array(fc.nat(200), { minLength: 2, maxLength: 8 }), fc.string(), (loads, key) => {
      const chosen = chooseEngine(key, candidates(loads));
      const mean = (loads.reduce((sum, load) => sum + load, 0) + 1) / loads.length;
      expect(chosen).toBeDefined();
      expect((chosen?.inFlight ?? 0) + 1).toBeLessThanOrEqual(Math.max(16, Math.ceil(1.25 * mean)));
    });
    fc.assert(property);
  });
});
