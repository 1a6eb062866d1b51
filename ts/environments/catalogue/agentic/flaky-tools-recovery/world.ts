/**
 * The services of flaky-tools-recovery, in virtual minutes. A request has effects, at once, later, in part, twice or not at all; a caller
 * hears "accepted", "declined", "busy" or nothing. What an effect is follows from the instance and the calls, so a game can be replayed.
 */
import { at } from "../../lists.ts";
import { Refusal } from "../../row.ts";
import { recordOf } from "../records.ts";
import type { Instance, Outcome, Request, Service, Step } from "./instance.ts";

export interface Effect {
  readonly id: string;
  readonly service: string;
  readonly job: string;
  readonly amount: number;
  /** The minute at which it comes about. */
  from: number;
  /** The minute at which it was undone. */
  until: number | null;
}

interface Remembered {
  readonly request: Request;
  readonly effect: Effect;
  readonly minute: number;
}

export type Entry = "done" | "undone";
export type Answer = { answer: "accepted"; effect: string } | { answer: "declined" | "busy" | "timeout" };

export class World {
  readonly instance: Instance;
  readonly effects: Effect[] = [];
  /** What the worker before heard, for each of its requests. */
  readonly heard: Answer[] = [];
  /** The audit log. */
  readonly entries = new Map<string, Entry>();
  minute = 0;
  readonly #keys = new Map<string, Remembered>();
  readonly #requests = new Map<string, number>();
  readonly #undone = new Map<string, number>();

  constructor(instance: Instance) {
    this.instance = instance;
    for (const { minute, ...request } of instance.earlier) {
      this.minute = minute;
      this.heard.push(this.#carryOut(request));
    }
    this.minute = 0;
  }

  act(request: Request): Answer {
    this.#check(request);
    this.#spendMinute();
    return this.#carryOut(request);
  }

  /** Effects as they were `lag` minutes ago. */
  look(name: string): { id: string; job: string; amount: number; undone: boolean }[] {
    const { lag } = this.service(name);
    this.#spendMinute();
    const then = this.minute - lag;
    return this.effects
      .filter(({ service, from }) => service === name && from <= then)
      .map(({ id, job, amount, until }) => ({ id, job, amount, undone: until !== null && until <= then }));
  }

  undo(name: string, id: string): { answer: "undone" | "timeout" } {
    const service = this.service(name);
    if (!service.undoable) throw new Refusal(`${name} cannot undo anything`);
    const effect = this.effects.find((one) => one.id === id && one.service === name && one.from <= this.minute + 1);
    if (effect === undefined) throw new Refusal(`${name} has no effect ${id}`);
    this.#spendMinute();
    const tried = this.#undone.get(id) ?? 0;
    this.#undone.set(id, tried + 1);
    const outcome = this.instance.undoing[tried] ?? "done";
    if (outcome !== "lost") effect.until ??= this.minute;
    return { answer: outcome === "done" ? "undone" : "timeout" };
  }

  wait(minutes: number): void {
    this.minute += minutes;
  }

  enter(job: string, entry: Entry): void {
    recordOf(this.instance.jobs, job, "job");
    if (this.minute > this.instance.deadline) throw new Refusal("the deadline is over");
    if (this.entries.has(job)) throw new Refusal(`${job} has an entry, which cannot be changed`);
    this.entries.set(job, entry);
  }

  service(name: string): Service {
    const service = this.instance.services.find((one) => one.name === name);
    if (service === undefined) throw new Refusal(`there is no service ${name}`);
    return service;
  }

  /** What is left of a step in the end, with effects that are still to come. */
  total(job: string, service: string): number {
    return this.effects
      .filter((one) => one.job === job && one.service === service && one.until === null)
      .reduce((sum, { amount }) => sum + amount, 0);
  }

  #spendMinute(): void {
    if (this.minute >= this.instance.deadline) throw new Refusal("the deadline is over");
    this.minute += 1;
  }

  /** Throws Refusal, before a minute is spent. */
  #check(request: Request): void {
    const { keyed } = this.service(request.service);
    stepOf(this.instance, request);
    if (request.key !== null && keyed === null) throw new Refusal(`${request.service} takes no keys`);
    const known = this.#remembered(request, this.minute + 1)?.request;
    if (known !== undefined && (known.job !== request.job || known.amount !== request.amount))
      throw new Refusal(`${request.key ?? ""} is the key of another request`);
  }

  #carryOut(request: Request): Answer {
    const service = this.service(request.service);
    const step = stepOf(this.instance, request);
    const known = this.#remembered(request, this.minute);
    const slot = `${request.job} ${request.service}`;
    const tried = this.#requests.get(slot) ?? 0;
    this.#requests.set(slot, tried + 1);
    const outcome = step.outcomes[tried] ?? "done";
    if (outcome === "busy") return { answer: "busy" };
    if (known !== undefined) return this.#again(known, outcome);
    if (step.declines) return { answer: outcome === "done" || outcome === "twice" ? "declined" : "timeout" };
    return this.#anew(request, service, outcome);
  }

  /** A request with a known key has no further effect. If its effect is still to come, it comes now. */
  #again({ effect }: Remembered, outcome: Outcome): Answer {
    if (outcome === "lost") return { answer: "timeout" };
    effect.from = Math.min(effect.from, this.minute);
    return outcome === "done" ? { answer: "accepted", effect: effect.id } : { answer: "timeout" };
  }

  #anew(request: Request, service: Service, outcome: Outcome): Answer {
    if (outcome === "lost") return { answer: "timeout" };
    const half = Math.max(1, Math.floor(request.amount / 2));
    const delay = outcome === "late" ? service.settling : 0;
    const effect = this.#add(request, outcome === "half" ? half : request.amount, delay);
    if (request.key !== null)
      this.#keys.set(`${service.name} ${request.key}`, { request, effect, minute: this.minute });
    if (outcome === "twice") this.#add(request, request.amount, service.settling);
    return outcome === "done" || outcome === "twice"
      ? { answer: "accepted", effect: effect.id }
      : { answer: "timeout" };
  }

  #add({ service, job }: Request, amount: number, delay: number): Effect {
    const { names } = this.instance;
    const round = Math.floor(this.effects.length / names.length);
    const id = `${at(names, this.effects.length % names.length)}${round === 0 ? "" : `-${round}`}`;
    const effect = { id, service, job, amount, from: this.minute + delay, until: null };
    this.effects.push(effect);
    return effect;
  }

  #remembered({ service, key }: Request, minute: number): Remembered | undefined {
    const known = this.#keys.get(`${service} ${key ?? ""}`);
    return known !== undefined && minute <= known.minute + (this.service(service).keyed ?? 0) ? known : undefined;
  }
}

/** Throws Refusal where the job has no such step. */
function stepOf({ jobs }: Instance, { job, service }: Request): Step {
  const step = recordOf(jobs, job, "job").steps.find((one) => one.service === service);
  if (step === undefined) throw new Refusal(`${job} has no step for ${service}`);
  return step;
}
