/** Faults at random instants, from the seed of a run. */
import type { Machine } from "./parts/machine.ts";
import type { SimulatedProcess } from "./world/world.ts";

/** Breaks something; what it started ends by itself. */
type Fault = (machine: Machine) => void;

const HOLDERS = ["trainer", "orchestrator", "env-server", "inference"] as const;
/** After this time a process that was stopped goes on, if nothing has killed it. */
const LONGEST_STOP_MS = 6_000;
const LONGEST_MS = 1_500;

function living({ world }: Machine, name: string): SimulatedProcess | undefined {
  const found = world.processes.filter((process) => process.name.startsWith(name) && process.state !== "dead");
  return found[world.rng.integer(Math.max(1, found.length))];
}

function forAWhile({ world }: Machine, begin: () => void, end: () => void): void {
  begin();
  world.schedule(world.delay(50, LONGEST_MS), null, end);
}

const onNetwork = (name: "slowMs" | "lost" | "repeated", value: number): Fault => {
  return (machine) => {
    const { network } = machine;
    forAWhile(
      machine,
      () => void (network[name] = value),
      () => void (network[name] = 0),
    );
  };
};

export const FAULTS: Readonly<Record<string, Fault>> = {
  ...Object.fromEntries(
    HOLDERS.flatMap((name): [string, Fault][] => [
      [`kill-${name}`, (machine) => send(machine, name, "SIGKILL")],
      [`stop-${name}`, (machine) => stop(machine, name)],
    ]),
  ),
  "kill-launcher": (machine) => send(machine, "launcher", "SIGKILL"),
  interrupt: (machine) => send(machine, "launcher", "SIGTERM"),
  "terminate-trainer": (machine) => send(machine, "trainer", "SIGTERM"),
  "slow-network": onNetwork("slowMs", 400),
  "lost-answers": onNetwork("lost", 0.3),
  "repeated-requests": onNetwork("repeated", 0.5),
  garbage: (machine) =>
    forAWhile(
      machine,
      () => void (machine.garbage = 0.3),
      () => void (machine.garbage = 0),
    ),
  "full-disk": (machine) =>
    forAWhile(
      machine,
      () => void (machine.world.isDiskFull = true),
      () => void (machine.world.isDiskFull = false),
    ),
};

function send(machine: Machine, name: string, signal: NodeJS.Signals): void {
  const found = living(machine, name);
  if (found !== undefined) machine.world.signal(found, signal);
}

function stop(machine: Machine, name: string): void {
  const { world } = machine;
  const found = living(machine, name);
  if (found === undefined) return;
  world.signal(found, "SIGSTOP");
  world.schedule(world.delay(20, LONGEST_STOP_MS), null, () => world.signal(found, "SIGCONT"));
}

/** Injects `count` of these faults, one after the other. */
export function inject(machine: Machine, names: readonly string[], count: number): void {
  const { world } = machine;
  if (count === 0) return;
  world.schedule(world.delay(5, 900), null, () => {
    const name = world.rng.pick(names);
    world.note(`fault: ${name}`);
    FAULTS[name]?.(machine);
    inject(machine, names, count - 1);
  });
}
