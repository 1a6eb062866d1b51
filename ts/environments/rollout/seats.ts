/** The agents of one rollout: each has its own trace and sampler, made at its first use. */
import { BusyTime } from "./busy-time.ts";
import { PrlError } from "../../errors.ts";
import type { AgentOptions, AgentSeat, EnvironmentDefinition } from "../model/environment.ts";
import type { EndpointRolloutRequest, RolloutRequest } from "../model/configured-environment.ts";
import { replyClientOf } from "../endpoint/endpoint-config.ts";
import type { TurnLimits } from "../model/limits.ts";
import { RecordedTurns } from "../episode/partial-rollout.ts";
import type { ReplyClient } from "./reply-client.ts";
import { createReplySampler } from "./reply-sampler.ts";
import type { RewardOptions } from "../model/reward.ts";
import { createSampler, type Sampler } from "./sampler.ts";
import { seed as deriveSeed } from "../../random/seed.ts";
import { TraceGraph } from "../episode/trace.ts";

/** Name of the agent where an environment names none. */
export const SOLE_AGENT = "agent";

/** An agent as its environment was configured. */
export interface AgentRole<Agent extends string = string> {
  readonly name: Agent;
  readonly trains: boolean;
  /** The endpoint that plays it instead of the policy. */
  readonly endpoint: ReplyClient | null;
}

export interface Seat<Agent extends string = string> extends AgentSeat<Agent> {
  readonly index: number;
  readonly role: AgentRole<Agent>;
  readonly trace: TraceGraph;
  readonly sampler: Sampler;
  /** How long it waited for its model. */
  readonly calls: BusyTime;
}

/**
 * The agents of an environment with the settings from its arguments. Throws PRL_ENVIRONMENT_INVALID for options or rewards of an agent
 * that it does not have, PRL_CONFIG_ENVIRONMENT for a missing key of an endpoint.
 */
export function agentRoles<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  config: Config,
): AgentRole<Agent>[] {
  // Without `agents` the type Agent is string.
  const agents = definition.agents ?? [SOLE_AGENT as Agent];
  const seats: Readonly<Partial<Record<string, AgentOptions>>> = definition.seats?.({ config }) ?? {};
  const scored = Object.values({ ...definition.rewards, ...definition.metrics }).flatMap((entry) => {
    const { agent }: Pick<RewardOptions, "agent"> = "agent" in entry ? entry : {};
    return agent ?? [];
  });
  const strange = [...Object.keys(seats), ...scored].find((name) => !agents.some((agent) => agent === name));
  if (strange !== undefined) {
    const known = agents.join(", ");
    const message = `environment "${definition.name}" speaks of the agent "${strange}", which it does not have: ${known}`;
    throw new PrlError("PRL_ENVIRONMENT_INVALID", message);
  }
  return agents.map((name) => {
    const { endpoint = null, trains = endpoint === null } = seats[name] ?? {};
    return { name, trains, endpoint: endpoint === null ? null : replyClientOf(endpoint) };
  });
}

export class Seats<Agent extends string> {
  readonly #roles: readonly AgentRole<Agent>[];
  readonly #request: RolloutRequest | EndpointRolloutRequest;
  readonly #limits: TurnLimits;
  readonly #taken = new Map<string, Seat<Agent>>();
  #hasEnded = false;

  constructor(
    roles: readonly AgentRole<Agent>[],
    request: RolloutRequest | EndpointRolloutRequest,
    limits: TurnLimits,
  ) {
    this.#roles = roles;
    this.#request = request;
    this.#limits = limits;
  }

  /** The seat of the first agent. */
  get first(): Seat<Agent> {
    const [role] = this.#roles;
    if (role === undefined) throw new PrlError("PRL_ENVIRONMENT_INVALID", "there are no agents");
    return this.#seat(role, 0);
  }

  seat(name: Agent, index = 0): Seat<Agent> {
    const role = this.#roles.find((one) => one.name === name);
    if (role !== undefined && Number.isSafeInteger(index) && index >= 0) return this.#seat(role, index);
    const known = this.#roles.map((one) => one.name).join(", ");
    throw new PrlError("PRL_ENVIRONMENT_FAILED", `there is no agent "${name}" ${index}; there are ${known}, from 0 on`);
  }

  /** Seats that sampled anything, in the order of the environment's agents. */
  get spoken(): Seat<Agent>[] {
    const order = ({ role, index }: Seat<Agent>): number => this.#roles.indexOf(role) * 2 ** 32 + index;
    return [...this.#taken.values()].filter(({ trace }) => trace.turns > 0).sort((a, b) => order(a) - order(b));
  }

  /** The rollout has ended: what a call still brings that the rollout did not wait for is in no trace, so that all of what is recorded was scored. */
  end(): void {
    this.#hasEnded = true;
    for (const { trace } of this.#taken.values()) trace.seal();
  }

  /** Resolves when no call of the policy is under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#taken.values()].map(({ sampler }) => sampler.settled()));
  }

  /** Turns an error into that of a seat's engine, if the engine is at fault. */
  blame(error: unknown): unknown {
    let blamed = error;
    for (const { sampler } of this.#taken.values()) if (blamed === error) blamed = sampler.blame(error);
    return blamed;
  }

  #seat(role: AgentRole<Agent>, index: number): Seat<Agent> {
    const key = `${role.name} ${index}`;
    const taken = this.#taken.get(key);
    if (taken !== undefined) return taken;
    const request = { ...this.#request, limits: this.#limits };
    const isFirst = role === this.#roles[0] && index === 0;
    // Agents may speak at the same time: the order of their calls must not decide what each draws.
    const seed = isFirst ? request.seed : deriveSeed(request.seed, "agent", role.name, "", 0, index, 0);
    const trace = new TraceGraph();
    if (this.#hasEnded) trace.seal();
    const sampler =
      role.endpoint !== null
        ? createReplySampler({ ...request, seed, endpoint: role.endpoint }, trace)
        : "endpoint" in request
          ? createReplySampler({ ...request, seed }, trace)
          : createSampler({ ...request, seed, recorded: isFirst ? recordedOf(request) : null }, trace);
    const calls = new BusyTime();
    const sample: Sampler["sample"] = (prompt, options) => calls.during(() => sampler.sample(prompt, options));
    const seat = { name: role.name, role, index, trace, sampler, calls, sample };
    this.#taken.set(key, seat);
    return seat;
  }
}

function recordedOf({ partial }: RolloutRequest): RecordedTurns | null {
  return partial === undefined ? null : new RecordedTurns(partial);
}
