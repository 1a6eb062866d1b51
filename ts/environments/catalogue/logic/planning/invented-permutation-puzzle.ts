/** invented-permutation-puzzle: sort a row of tokens by drawn moves, each a permutation of the places. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { PLAN_RULES, type PlanInstance, planRow } from "./plan-row.ts";
import { layersOf, shortestPlan, type Step } from "./search.ts";

interface Instance extends PlanInstance {
  /** `moves[m][i]`: the place whose token comes to place i. */
  moves: number[][];
  start: number[];
}

/** By level: places, moves, least and most steps. */
const SIZES = [
  [5, 2, 3, 4],
  [6, 2, 5, 6],
  [6, 3, 6, 8],
  [7, 3, 8, 10],
  [8, 3, 11, 14],
] as const;
const MOST_STATES = 12_000;
const NAMES = "PQRS";

export const inventedPermutationPuzzle = planRow<Instance>({
  id: "invented-permutation-puzzle",
  asks: "a shortest sequence of given permutations that sorts a row of tokens",
  make,
  prompts: [
    (one) =>
      `The tokens ${one.start.map((token) => token + 1).join(" ")} lie in a row, on the places 1 to ${one.start.length}. These moves rearrange them:\n${arrows(one)}\n\nBring the tokens into the order ${ordered(one)}. A step is the letter of a move; every move can be used as often as you like, only in the direction given. ${PLAN_RULES[0]}`,
    (one) =>
      `A puzzle has ${moveNames(one)} as its only buttons. Each button sends the row (${placeNames(one)}) to another arrangement of the same tokens:\n${images(one)}\n\nThe row is now (${one.start.map((token) => token + 1).join(", ")}) and should become (${ordered(one).replaceAll(" ", ", ")}). Which buttons do you press? ${PLAN_RULES[1]}`,
    (one) =>
      `Sort by permutations.\nStart: [${one.start.map((token) => token + 1).join(", ")}]\nTarget: [${ordered(one).replaceAll(" ", ", ")}]\nAllowed moves (undoing a move is not a move):\n${arrows(one)}\n\nWrite the letter of the move for each step. ${PLAN_RULES[2]}`,
    (one) =>
      `Someone mixed ${one.start.length} numbered cards; from left to right they read ${one.start.map((token) => token + 1).join(" ")}. You may only rearrange them by whole moves:\n${images(one)}\nHere the letters ${placeNames(one)} stand for whatever cards lie on the places from left to right before the move.\n\nGet the cards into ascending order. Name one move per step. ${PLAN_RULES[3]}`,
  ],
  run(instance, steps, reached) {
    let row: readonly number[] = instance.start;
    for (const step of steps) {
      const move = instance.moves[step.length === 1 ? NAMES.indexOf(step.toUpperCase()) : -1];
      if (move === undefined) return false;
      row = applied(row, move);
      reached(isSorted(row));
    }
    return true;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, moveCount, least, most] = at(SIZES, level - 1);
  const moves = range(moveCount).map(() => drawMove(count, rng));
  const [first = [], second = []] = moves;
  const sorted = range(count);
  // Moves that commute make the order of steps free.
  if (applied(applied(sorted, first), second).join() === applied(applied(sorted, second), first).join()) return null;
  const inverses = moves.map((move) => sorted.map((place) => move.indexOf(place)));
  const layers = layersOf<readonly number[]>({ start: sorted, next: nextOf(inverses), key: keyOf }, MOST_STATES, most);
  const layer = layers[least + rng.integer(most - least + 1)] ?? [];
  if (layer.length === 0) return null;
  const start = [...rng.pick(layer)];
  const found = shortestPlan<readonly number[]>(
    { start, isGoal: isSorted, next: nextOf(moves), key: keyOf },
    2 * MOST_STATES,
  );
  if (found === null || found.plan.length < least) return null;
  return { moves, start, ...found };
}

/** A cycle of three to five places. */
function drawMove(count: number, rng: Rng): number[] {
  const places = shuffled(range(count), rng).slice(0, 3 + rng.integer(Math.min(3, count - 3)));
  const move = range(count);
  for (const [index, place] of places.entries()) move[place] = at(places, (index + 1) % places.length);
  return move;
}

function nextOf(moves: readonly (readonly number[])[]) {
  return (row: readonly number[]): Step<readonly number[]>[] =>
    moves.map((move, index) => ({ label: NAMES[index] ?? "", state: applied(row, move) }));
}

function applied(row: readonly number[], move: readonly number[]): number[] {
  return move.map((place) => at(row, place));
}

function keyOf(row: readonly number[]): number {
  return row.reduce((sum, token) => sum * 8 + token, 0);
}

function isSorted(row: readonly number[]): boolean {
  return row.every((token, place) => token === place);
}

function ordered({ start }: Instance): string {
  return range(start.length)
    .map((token) => token + 1)
    .join(" ");
}

function moveNames({ moves }: Instance): string {
  return NAMES.slice(0, moves.length).split("").join(", ");
}

function placeNames({ start }: Pick<Instance, "start">): string {
  return "abcdefgh".slice(0, start.length).split("").join(" ");
}

function images({ moves, start }: Instance): string {
  return moves
    .map(
      (move, index) =>
        `${NAMES[index] ?? ""}: ${placeNames({ start })} becomes ${move.map((place) => "abcdefgh"[place]).join(" ")}`,
    )
    .join("\n");
}

function arrows({ moves }: Instance): string {
  return moves
    .map((move, index) => {
      const changes = move.flatMap((from, to) => (from === to ? [] : [`place ${from + 1} to ${to + 1}`]));
      return `${NAMES[index] ?? ""}: the tokens go, all at once, from ${changes.join(", ")}; the others stay`;
    })
    .join("\n");
}
