/** What an instance of flaky-tools-recovery holds: services with their protocols, jobs, what happens to each request, and an earlier worker's requests. */

/** What goes wrong with a request. */
export const FAULTS = ["lost", "silent", "busy", "late", "half", "twice"] as const;
export type Fault = (typeof FAULTS)[number];
export type Outcome = Fault | "done";

/** What a protocol neglects. */
export const TRAPS = [
  /** Looks at once after an answer that did not come. */
  "haste",
  /** Waits for each uncertain step by itself. */
  "one-by-one",
  /** Does not read what the worker before did. */
  "log",
  /** Leaves the other steps of a declined job as they are. */
  "compensation",
  /** Does not put steps that cannot be undone last. */
  "order",
  /** Believes that "accepted" means once. */
  "acceptance",
  /** Uses keys of any age. */
  "old-keys",
] as const;
export type Trap = (typeof TRAPS)[number];

export interface Service {
  readonly name: string;
  /** Minutes for which it remembers a key; null where it takes none. */
  readonly keyed: number | null;
  /** What it shows is this many minutes old. */
  readonly lag: number;
  /** A request has its effects within this many minutes or never. */
  readonly settling: number;
  readonly undoable: boolean;
}

export interface Step {
  readonly service: string;
  readonly amount: number;
  /** Of the first requests; later ones are done. */
  readonly outcomes: readonly Outcome[];
  /** The service refuses the step for good. */
  readonly declines: boolean;
}

export interface Job {
  readonly id: string;
  readonly steps: readonly Step[];
}

export interface Request {
  readonly service: string;
  readonly job: string;
  readonly amount: number;
  readonly key: string | null;
}

export interface Instance {
  readonly services: readonly Service[];
  readonly jobs: readonly Job[];
  /** Requests of a worker that stopped, at minutes before 0. */
  readonly earlier: readonly (Request & { readonly minute: number })[];
  /** What happens to the first requests to undo an effect. */
  readonly undoing: readonly ("lost" | "silent")[];
  /** Names of effects in the order of their making. */
  readonly names: readonly string[];
  /** After this minute nothing is carried out. */
  readonly deadline: number;
  /** What a protocol must not neglect here. */
  readonly traps: readonly Trap[];
}
