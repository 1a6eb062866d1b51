/** Draws instances of flaky-tools-recovery: services, jobs, one of all fault schedules for each step, and the requests of an earlier worker. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { namesOf } from "../records.ts";
import { easyShare, jobShare } from "./grade.ts";
import {
  type Fault,
  FAULTS,
  type Instance,
  type Job,
  type Outcome,
  type Service,
  type Step,
  type Trap,
} from "./instance.ts";
import { recovered } from "./recovery.ts";

interface Size {
  readonly jobs: number;
  /** Steps of a job. */
  readonly steps: number;
  readonly services: number;
  /** Kinds of faults, in the order of `FAULTS`. */
  readonly kinds: number;
  /** Requests of a step that may go wrong. */
  readonly length: number;
  readonly declined: number;
  readonly earlier: number;
  readonly traps: readonly Trap[];
}

const SIZES: readonly Size[] = [
  { jobs: 2, steps: 1, services: 2, kinds: 2, length: 1, declined: 0, earlier: 0, traps: ["haste"] },
  { jobs: 3, steps: 2, services: 3, kinds: 4, length: 1, declined: 0, earlier: 0, traps: ["haste"] },
  {
    jobs: 4,
    steps: 2,
    services: 3,
    kinds: 5,
    length: 2,
    declined: 1,
    earlier: 2,
    traps: ["haste", "one-by-one", "compensation"],
  },
  {
    jobs: 5,
    steps: 3,
    services: 4,
    kinds: 6,
    length: 2,
    declined: 1,
    earlier: 3,
    traps: ["haste", "one-by-one", "log", "compensation", "acceptance"],
  },
  {
    jobs: 7,
    steps: 3,
    services: 5,
    kinds: 6,
    length: 3,
    declined: 2,
    earlier: 6,
    traps: ["haste", "one-by-one", "log", "compensation", "order", "acceptance", "old-keys"],
  },
];
const UNDOABLE = ["stock", "cards", "courier", "points", "seats", "rooms", "lockers"];
const FINAL = ["letters", "labels", "donations", "parcels"];
const FAR = 1_000_000;
/** What requests without care may earn, before it is subtracted. */
const MOST_EASY = 0.5;

export function drawInstance(rng: Rng, level: Level): Instance | null {
  const size = at(SIZES, level - 1);
  const services = drawServices(rng, size, level);
  const jobs = drawJobs(rng, size, services);
  if (jobs === null) return null;
  const instance: Instance = {
    services,
    jobs,
    earlier: drawEarlier(rng, size, services, jobs),
    undoing: level < 5 ? [] : range(2).map(() => rng.pick(["lost", "silent"] as const)),
    names: namesOf("fx", 4 * size.jobs * size.steps, rng),
    deadline: FAR,
    traps: size.traps,
  };
  const { minute } = recovered(instance).world;
  const oneByOne = recovered(instance, "one-by-one").world.minute;
  const isTight = size.traps.includes("one-by-one");
  const timed = { ...instance, deadline: isTight ? Math.floor((2 * minute + oneByOne) / 3) : 2 * oneByOne };
  if (isTight && (timed.deadline < minute + 2 || timed.deadline >= oneByOne)) return null;
  const isCaught = size.traps.every((trap) => jobShare(timed, recovered(timed, trap).world) < 1);
  const isRight = jobShare(timed, recovered(timed).world) === 1;
  return isCaught && isRight && easyShare(timed) <= MOST_EASY ? timed : null;
}

/** The schedule with this number among all of this length, of which there are (kinds + 1) to the power of `length`. */
export function scheduleOf(number: number, kinds: readonly Fault[], length: number): Outcome[] {
  const all: readonly Outcome[] = ["done", ...kinds];
  return range(length).map((place) => at(all, Math.floor(number / all.length ** place) % all.length));
}

/** Faults that a service can have: with keys it does nothing in part or twice, and what cannot be undone is never done twice. */
export function faultsOf({ keyed, undoable }: Service, kinds: number): Fault[] {
  return FAULTS.slice(0, kinds).filter(
    (fault) => (keyed === null || (fault !== "half" && fault !== "twice")) && (undoable || fault !== "twice"),
  );
}

function drawServices(rng: Rng, { services: count }: Size, level: Level): Service[] {
  const finals = level === 1 ? 0 : count > 4 ? 2 : 1;
  const names = [...sample(UNDOABLE, count - finals, rng), ...sample(FINAL, finals, rng)];
  // The first takes no keys, the second does.
  return names.map((name, index): Service => {
    const isKeyed = index === 1 || (index > 1 && rng.integer(2) === 0);
    return {
      name,
      keyed: isKeyed ? between(rng, 18, 40) : null,
      lag: between(rng, 2, 7),
      settling: between(rng, 8, 25),
      undoable: index < count - finals,
    };
  });
}

function drawJobs(rng: Rng, size: Size, services: readonly Service[]): Job[] | null {
  const ids = namesOf("job", size.jobs, rng);
  const declined = new Set(sample(range(size.jobs), size.declined, rng));
  const jobs = ids.map((id, index): Job => {
    const used = sample(services, size.steps, rng);
    const refusing = declined.has(index) ? used.find(({ undoable }) => undoable) : undefined;
    return { id, steps: used.map((service) => drawStep(rng, size, service, service === refusing)) };
  });
  const reverses = (job: Job): boolean => job.steps.filter(({ declines }) => declines).length === 1;
  return jobs.filter(reverses).length === size.declined ? jobs : null;
}

function drawStep(rng: Rng, { kinds, length }: Size, service: Service, declines: boolean): Step {
  const faults = faultsOf(service, kinds);
  const outcomes = scheduleOf(rng.integer((faults.length + 1) ** length), faults, length);
  return { service: service.name, amount: between(rng, 2, 9), outcomes, declines };
}

/** Requests of a worker that stopped; none of them does what cannot be taken back for a job that will be declined. */
function drawEarlier(rng: Rng, size: Size, services: readonly Service[], jobs: readonly Job[]): Instance["earlier"] {
  const slots = jobs.flatMap(({ id, steps }) => {
    const isDeclined = steps.some(({ declines }) => declines);
    return steps.flatMap((step) => {
      const service = services.find(({ name }) => name === step.service);
      return service === undefined || (isDeclined && !service.undoable) ? [] : [{ id, step, service }];
    });
  });
  const chosen = shuffled(slots, rng).slice(0, size.earlier);
  return chosen
    .map(({ id, step, service }) => {
      const minute = -between(rng, 2, 60);
      const key = service.keyed === null ? null : `${id}/${service.name}/${between(rng, 10, 99)}`;
      return { service: service.name, job: id, amount: step.amount, key, minute };
    })
    .toSorted((a, b) => a.minute - b.minute);
}
