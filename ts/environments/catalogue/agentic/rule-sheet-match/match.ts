/** A match of rule-sheet-match: the policy moves first, and a solver that errs answers. An illegal move ends it. */
import { at } from "../../lists.ts";
import { Refusal } from "../../row.ts";
import {
  isLegal,
  type Move,
  movesOf,
  type Position,
  type Rules,
  type Solver,
  solverOf,
  startOf,
  stepBy,
} from "./game.ts";

export interface Instance {
  readonly rules: Rules;
  readonly piles: readonly number[];
  /** For each answer of the other player: whether any legal move is made in place of a best one, and which of them. */
  readonly errors: readonly { readonly errs: boolean; readonly pick: number }[];
  /** Value of the first position. */
  readonly value: number;
  /** Positions that the solver has looked at. */
  readonly states: number;
}

const MOST_MOVES = 200;

export class Match {
  readonly instance: Instance;
  readonly solver: Solver;
  position: Position;
  /** Points of the policy less those of the other player. */
  points = 0;
  state: "running" | "over" | "forfeited" = "running";
  /** Who could not move in the end. */
  stuck: "policy" | "other" | null = null;
  moves = 0;
  /** Moves of the policy after which it was worth less than before. */
  losses = 0;
  #answers = 0;

  constructor(instance: Instance) {
    this.instance = instance;
    this.solver = solverOf(instance.rules);
    this.position = startOf(instance.rules, instance.piles);
  }

  /** Moves for the policy, then for the other player until it is the policy's turn; gives the other player's moves. */
  move(move: Move): Move[] {
    if (this.state !== "running") throw new Refusal("the match is over");
    const { rules } = this.instance;
    if (!isLegal(rules, this.position, move)) {
      this.state = "forfeited";
      return [];
    }
    this.moves += 1;
    if (this.solver.valueOf(this.position, move) < this.solver.value(this.position)) this.losses += 1;
    const { next, again, points } = stepBy(rules, this.position, move);
    this.position = next;
    this.points += points;
    const answers = again ? [] : this.#answer();
    if (this.state === "running" && movesOf(rules, this.position).length === 0) this.#end("policy");
    return answers;
  }

  /** Whether the policy has won, or the points that it is ahead. */
  get result(): number {
    if (this.state !== "over") return -1;
    const { end } = this.instance.rules;
    if (end === "points") return this.points;
    return (this.stuck === "other") === (end === "last") ? 1 : -1;
  }

  #answer(): Move[] {
    const { rules, errors } = this.instance;
    const made: Move[] = [];
    for (let again = true; again && this.moves + made.length < MOST_MOVES;) {
      const legal = movesOf(rules, this.position);
      if (legal.length === 0) {
        this.#end("other");
        return made;
      }
      const { errs, pick } = at(errors, this.#answers++ % errors.length);
      const choices = errs ? legal : this.solver.best(this.position);
      const move = at(choices, pick % choices.length);
      const step = stepBy(rules, this.position, move);
      this.position = step.next;
      this.points -= step.points;
      again = step.again;
      made.push(move);
    }
    return made;
  }

  #end(stuck: "policy" | "other"): void {
    this.state = "over";
    this.stuck = stuck;
  }
}

/** The result as a share of what the first position is worth, less the share of moves that lost value. */
export function grade({ value }: Instance, match: Match): number {
  if (match.state !== "over" || match.result <= 0 || match.moves === 0) return 0;
  return Math.min(1, match.result / value) * (1 - match.losses / match.moves);
}

/** A whole match by a way of choosing among legal moves. */
export function playedBy(
  instance: Instance,
  choose: (match: Match, legal: readonly Move[]) => Move,
): Match & { readonly made: readonly Move[] } {
  const match = new Match(instance);
  const made: Move[] = [];
  while (match.state === "running" && made.length < MOST_MOVES) {
    const move = choose(match, movesOf(instance.rules, match.position));
    made.push(move);
    match.move(move);
  }
  return Object.assign(match, { made });
}
