/** incident-repair: services that depend on each other are healed at their root causes, in an order that works, and no healthy one is touched. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, type Script, worldTool } from "../../row.ts";
import { aboveBase, call, namesOf, pageOf, pageStart, recordName, recordOf } from "../records.ts";

const FAULTS = ["full", "release", "stuck", "config"] as const;
type Fault = (typeof FAULTS)[number];
type Action = "restart" | "roll_back" | "clear_disk" | "restore_config";

/** What removes a fault. Every removal but a restart needs a restart afterwards. */
const REMEDIES: Readonly<Record<Fault, Action>> = {
  full: "clear_disk",
  release: "roll_back",
  stuck: "restart",
  config: "restore_config",
};

interface Service {
  id: string;
  needs: string[];
  fault: Fault | null;
  /** Percent, and minutes; they hint at a fault and may mislead. */
  disk: number;
  released: number;
  /** It went down with a service that it needs, and stays down until it is restarted. */
  isDown: boolean;
}

interface Instance {
  services: Service[];
  began: number;
}

interface State {
  readonly fault: Fault | null;
  readonly isDown: boolean;
}

interface World {
  readonly instance: Instance;
  readonly states: Map<string, State>;
  /** Actions on services that needed none of the kind. */
  harm: number;
}

/** By level: services, faults. */
const SIZES = [
  [4, 1],
  [7, 2],
  [11, 3],
  [16, 4],
  [24, 6],
] as const;
const PAGE = 12;
const FULL = 97;

function action(kind: Action, description: string) {
  return worldTool({
    description,
    parameters: z.object({ service: recordName }),
    run: (world: World, { service }: { service: string }) => act(world, service, kind),
  });
}

const tools = {
  list_services: worldTool<World, typeof pageStart>({
    description: `Services and whether they answer, ${PAGE} at a time`,
    parameters: pageStart,
    run: (world, { from }) =>
      pageOf(
        world.instance.services.map(({ id }) => ({ id, answers: isHealthy(world, id) })),
        from,
        PAGE,
      ),
  }),
  inspect: worldTool({
    description: "Log, metrics and dependencies of a service",
    parameters: z.object({ service: recordName }),
    run: (world: World, { service }) => {
      const { needs, disk, released } = recordOf(world.instance.services, service, "service");
      const { fault } = stateOf(world, service);
      return {
        needs,
        disk_percent: fault === null && disk >= FULL ? 40 : disk,
        last_release_minute: released,
        log: logOf(world, service),
      };
    },
  }),
  restart: action("restart", "Restarts a service. It comes up if it has no fault and everything that it needs answers"),
  roll_back: action("roll_back", "Brings back the release before the last one"),
  clear_disk: action("clear_disk", "Removes old files of a service"),
  restore_config: action("restore_config", "Brings back the settings of last week"),
};

export const incidentRepair = defineWorldRow<Instance, World>({
  id: "incident-repair",
  asks: "find the root causes among failing services, remove them and restart in the order of dependencies",
  make,
  effort: ({ services }) => services.length + 2 * services.filter(({ isDown }) => isDown).length,
  canonical: ({ services }) => services.map(({ id, fault, needs }) => JSON.stringify([id, fault, needs])).toSorted(),
  prompts: [
    ({ began }) =>
      `Several services do not answer since minute ${began}. Find out why and bring all of them back. A service that failed because one that it needs failed has no fault itself: it only has to be restarted, once everything that it needs answers. A fault has to be removed with the action for its cause, and the service restarted afterwards:\n- disk full: clear_disk\n- errors since a release of that minute: roll_back\n- hangs without another sign: restart alone\n- a setting that is refused: restore_config\n\nEvery action on a service that does not need it counts against you.`,
    ({ began }) =>
      `Incident, minute ${began}. Restore the cluster: in the end every service answers. Remedies by cause: clear_disk for a full disk, roll_back for a bad release (its last release is of minute ${began}), restore_config for settings that are refused, a plain restart for a hang. After a remedy the service still has to be restarted, after its dependencies. Do not treat symptoms: actions where nothing was wrong are subtracted.`,
    ({ began }) =>
      `On call: at minute ${began} parts of the platform went down. Logs tell which services only suffer from others (they need no more than a restart, after the others are up) and which have a fault: "no space" (clear_disk), "refused setting" (restore_config), failures of a release made at that minute (roll_back), and a hang (restart). Bring everything up with no unnecessary action; healthy services stay untouched.`,
    ({ began }) =>
      `Repair what broke at minute ${began}.\n1. A service answers if it runs, has no fault, and all that it needs answers.\n2. Faults: full disk -> clear_disk; last release at minute ${began} with errors -> roll_back; refused setting -> restore_config; hang -> nothing but the restart.\n3. Whatever is down has to be restarted once, when the services below it answer; a restart before that is wasted.\n4. Wasted or wrong actions cost.`,
  ],
  tools,
  world: (instance) => ({ instance, states: new Map(), harm: 0 }),
  gold: (instance) => script(instance, deeds(instance)),
  slips: (instance) => {
    const right = deeds(instance);
    const healthy = instance.services.find(({ isDown }) => !isDown);
    return {
      "restarts all that is down": script(
        instance,
        down(instance).map(({ id }) => call("restart", { service: id })),
      ),
      "stops before the last restart": script(instance, right).slice(0, -1),
      "restarts from above": script(instance, [
        ...right.filter(({ tool }) => tool !== "restart"),
        ...right.filter(({ tool }) => tool === "restart").toReversed(),
      ]),
      "rolls everything back as well": script(instance, [
        ...down(instance).map(({ id }) => call("roll_back", { service: id })),
        ...right,
      ]),
      "restarts a healthy service": script(instance, [call("restart", { service: healthy?.id ?? "" }), ...right]),
    };
  },
  blankets: (instance) => ({
    "restarts everything": instance.services.map(({ id }) => call("restart", { service: id })),
    "restarts all that is down, twice": [...down(instance), ...down(instance)].map(({ id }) =>
      call("restart", { service: id }),
    ),
    "every action on all that is down": down(instance).flatMap(({ id }) =>
      ["clear_disk", "roll_back", "restore_config", "restart"].map((tool) => call(tool, { service: id })),
    ),
  }),
  grade: (instance, world) => {
    const failing = instance.services.filter(({ id }) => !isHealthy(newWorld(instance), id));
    const healed = failing.filter(({ id }) => isHealthy(world, id)).length - world.harm;
    const restarted = newWorld(instance);
    for (const { id } of failing) act(restarted, id, "restart");
    const base = failing.filter(({ id }) => isHealthy(restarted, id)).length - restarted.harm;
    return aboveBase(Math.max(0, healed / failing.length), Math.max(0, base / failing.length));
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, faults] = at(SIZES, level - 1);
  const began = between(rng, 300, 900);
  const ids = namesOf("svc", count, rng);
  // A service needs only services before it in this order.
  const services = ids.map((id, index): Service => ({
    id,
    needs: sample(ids.slice(Math.max(0, index - 5), index), between(rng, 0, Math.min(3, index)), rng),
    fault: null,
    disk: between(rng, 20, 92),
    released: began - between(rng, 20, 280),
    isDown: false,
  }));
  const faulty = sample(services, faults, rng);
  for (const one of faulty) {
    one.fault = rng.pick(FAULTS);
    if (one.fault === "full") one.disk = FULL;
    if (one.fault === "release") one.released = began;
  }
  for (const one of services)
    one.isDown = one.fault !== null || one.needs.some((id) => recordOf(services, id, "service").isDown);
  // Releases of that minute without errors, and disks that are nearly full, mislead.
  for (const one of sample(
    services.filter(({ fault }) => fault === null),
    Math.ceil(count / 5),
    rng,
  ))
    if (rng.integer(2) === 0) one.released = began;
    else one.disk = FULL - 2;
  const instance = { services: shuffled(services, rng), began };
  const suffering = services.filter(({ isDown, fault }) => isDown && fault === null).length;
  const isHidden = faulty.some(({ fault }) => fault !== "stuck");
  return suffering >= faults && isHidden && down(instance).length < count ? instance : null;
}

function newWorld(instance: Instance): World {
  return { instance, states: new Map(), harm: 0 };
}

function stateOf({ instance, states }: World, id: string): State {
  return states.get(id) ?? recordOf(instance.services, id, "service");
}

function isHealthy(world: World, id: string): boolean {
  const { fault, isDown } = stateOf(world, id);
  return (
    fault === null &&
    !isDown &&
    recordOf(world.instance.services, id, "service").needs.every((need) => isHealthy(world, need))
  );
}

function act(world: World, id: string, kind: Action): string {
  const { needs } = recordOf(world.instance.services, id, "service");
  const { fault, isDown } = stateOf(world, id);
  if (kind !== "restart") {
    if (fault === null || REMEDIES[fault] !== kind) world.harm += 1;
    else world.states.set(id, { fault: null, isDown });
    return "done";
  }
  const isCured = fault === null || fault === "stuck";
  const comesUp = isDown && isCured && needs.every((need) => isHealthy(world, need));
  if (!comesUp) world.harm += 1;
  if (comesUp) world.states.set(id, { fault: null, isDown: false });
  return comesUp || !isDown ? "restarted, answers" : "restarted, does not answer";
}

function logOf(world: World, id: string): string {
  const { needs } = recordOf(world.instance.services, id, "service");
  const { fault, isDown } = stateOf(world, id);
  const failing = needs.filter((need) => !isHealthy(world, need));
  if (fault === "full") return "write failed: no space left";
  if (fault === "config") return "start failed: refused setting";
  if (fault === "release") return "error rate 0.9 since the new release";
  if (fault === "stuck") return "last line 20 minutes ago, no error";
  if (failing.length > 0) return `cannot reach ${failing.join(", ")}`;
  return isDown ? "stopped: a dependency had failed" : "all requests answered";
}

function down({ services }: Instance): Service[] {
  return services.filter(({ isDown }) => isDown);
}

/** Remedies, and restarts from the services that need none that is down. */
function deeds(instance: Instance): Call[] {
  const world = newWorld(instance);
  const calls: Call[] = [];
  const carryOut = (service: string, tool: Action): void => {
    act(world, service, tool);
    calls.push(call(tool, { service }));
  };
  for (const { id, fault } of instance.services) if (fault !== null && fault !== "stuck") carryOut(id, REMEDIES[fault]);
  for (let left = down(instance); left.length > 0;) {
    const next = at(
      left.filter(({ needs }) => needs.every((need) => isHealthy(world, need))),
      0,
    );
    carryOut(next.id, "restart");
    left = left.filter((one) => one !== next);
  }
  return calls;
}

function script(instance: Instance, calls: readonly Call[]): Script {
  const { services } = instance;
  return [
    ...range(Math.ceil(services.length / PAGE)).map((page) => call("list_services", { from: page * PAGE })),
    ...down(instance).map(({ id }) => call("inspect", { service: id })),
    ...calls,
  ];
}
