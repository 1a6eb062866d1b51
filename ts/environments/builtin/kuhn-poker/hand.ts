/** A hand as two conversations play it: which replies are moves, whose turn it is, which messages each player has. */
import { type Action, type Deal, isOver, legalActions, payoff, type Player, toAct } from "./game.ts";

/** The most that a hand can cost, so that an invalid reply is never better than a move. */
const FORFEIT = 2;

export interface Hand {
  readonly history: readonly Action[];
  /** Who has to reply now; null when the hand is over. */
  readonly next: Player | null;
  /** The last reply of `next` was not a legal move, and it may try again. */
  readonly retry: boolean;
  /** The player that ran out of tries. */
  readonly forfeitedBy: Player | null;
  /** Replies that were no legal moves, by player. */
  readonly invalid: readonly [number, number];
}

/** The hand after these replies of each player, in order. `retries`: how often a player may try again after an illegal move. */
export function replay(replies: readonly [readonly string[], readonly string[]], retries: number): Hand {
  const history: Action[] = [];
  const used: [number, number] = [0, 0];
  const invalid: [number, number] = [0, 0];
  let failed = 0;
  while (!isOver(history)) {
    const player = toAct(history);
    const reply = replies[player][used[player]];
    if (reply === undefined) return { history, next: player, retry: failed > 0, forfeitedBy: null, invalid };
    used[player] += 1;
    const move = readMove(reply, legalActions(history));
    if (move !== null) {
      history.push(move);
      failed = 0;
      continue;
    }
    invalid[player] += 1;
    failed += 1;
    if (failed > retries) return { history, next: null, retry: false, forfeitedBy: player, invalid };
  }
  return { history, next: null, retry: false, forfeitedBy: null, invalid };
}

/** The chips that a player won. An unfinished hand is lost by the player to act, like a forfeit. */
export function winnings(deal: Deal, { history, next, forfeitedBy }: Hand, player: Player): number {
  const loser = forfeitedBy ?? next;
  const first = loser === null ? payoff(deal, history) : loser === 0 ? -FORFEIT : FORFEIT;
  // This avoids a negative zero.
  return player === 0 ? first : -first;
}

/** The one legal action in brackets, such as `[bet]`; null when there is none, or more than one. */
export function readMove(reply: string, legal: readonly Action[]): Action | null {
  const named = new Set([...reply.matchAll(/\[\s*([a-z]+)\s*\]/giu)].map(([, word]) => word?.toLowerCase()));
  const moves = legal.filter((action) => named.has(action));
  return moves.length === 1 ? (moves[0] ?? null) : null;
}
