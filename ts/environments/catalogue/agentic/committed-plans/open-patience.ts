/** open-patience: a patience with all cards in sight is played to its end by legal moves. */
import { z } from "zod";

import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import { call } from "../records.ts";

interface Card {
  suit: number;
  rank: number;
}

interface Table {
  columns: Card[][];
  cells: Card[];
  /** Cards of each suit that are home. */
  home: number[];
}

interface Instance {
  columns: Card[][];
  suits: number;
  ranks: number;
  cells: number;
  moves: Move[];
  searched: number;
}

interface World {
  readonly instance: Instance;
  table: Table;
}

/** A card, and a column from 1, "cell" or "home". */
interface Move {
  card: string;
  to: string;
}

/** By level: suits, ranks, columns, cells. */
const SIZES = [
  [2, 3, 3, 1],
  [2, 5, 3, 1],
  [3, 5, 4, 1],
  [3, 7, 5, 2],
  [4, 7, 6, 2],
] as const;
const SUITS = ["red", "green", "blue", "white"];
/** Tables that are kept at each step of the search, and its longest plan. */
const WIDTH = 24;
const MOST_MOVES = 80;

const moveShape = z.object({ card: z.string().max(20), to: z.string().max(20) });

const tools = {
  look: worldTool<World, z.ZodObject>({
    description: "The table: columns from bottom to top (the last card is free), cells, and how far each suit is home",
    parameters: z.object({}),
    run: ({ instance, table }) => shownTable(instance, table),
  }),
  move: worldTool<World, typeof moveShape>({
    description: 'Moves a free card, such as "red 3", to "column 2", "cell" or "home"',
    parameters: moveShape,
    run: (world, { card, to }) => {
      const next = moved(world.instance, world.table, { card, to });
      if (next === null) throw new Refusal(`${card} cannot go to ${to} now`);
      world.table = next;
      return shownTable(world.instance, next);
    },
  }),
};

export const openPatience = defineWorldRow<Instance, World>({
  id: "open-patience",
  asks: "play a patience with open cards, columns and cells to the end, where playing home what fits gets stuck",
  make,
  effort: ({ suits, ranks, moves }) => suits * ranks * moves.length,
  canonical: ({ columns }) => columns,
  prompts: [
    (one) => `Play a patience until every card is home. ${rules(one)} Only a finished game counts.`,
    (one) =>
      `All cards lie open. ${rules(one)} Bring all of them home; there is no credit for a part. Look at the table first, and think before a move, since you cannot take one back.`,
    (one) => `Game: ${rules(one)} The deal can be won. Win it.`,
    (one) =>
      `Your aim is an empty table: each suit home from 1 to ${one.ranks}. ${rules(one)} A game that is stuck is lost.`,
  ],
  tools,
  world: (instance) => ({ instance, table: begun(instance) }),
  gold: (instance) => script(instance.moves),
  slips: (instance) => ({
    "stops before the last card": script(instance.moves.slice(0, -1)),
    "leaves out the first move": script(instance.moves.slice(1)),
    "plays home what fits": script(greedy(instance)),
    "uses the cells first": script([
      ...instance.columns
        .slice(0, instance.cells)
        .map((column) => ({ card: nameOf(at(column, column.length - 1)), to: "cell" })),
      ...greedy(instance),
    ]),
  }),
  blankets: (instance) => ({
    "plays home what fits": script(greedy(instance)),
    "everything to the first column": script(
      instance.columns.flatMap((column) => column.toReversed().map((card) => ({ card: nameOf(card), to: "column 1" }))),
    ),
    "everything home, again and again": script(
      range(instance.ranks).flatMap(() =>
        instance.columns.flatMap((column) => column.toReversed().map((card) => ({ card: nameOf(card), to: "home" }))),
      ),
    ),
  }),
  grade: ({ ranks }, { table }) => (table.home.every((count) => count === ranks) ? 1 : 0),
});

function make(rng: Rng, level: Level): Instance | null {
  const [suits, ranks, columnCount, cells] = at(SIZES, level - 1);
  const deck = shuffled(range(suits * ranks), rng).map((card): Card => ({
    suit: card % suits,
    rank: Math.floor(card / suits) + 1,
  }));
  const columns = range(columnCount).map((column) => deck.filter((_, index) => index % columnCount === column));
  const draft = { columns, suits, ranks, cells, moves: [], searched: 0 };
  if (isWonGreedily(draft)) return null;
  const found = search(draft);
  return found === null || found.moves.length < suits * ranks + 1 ? null : { ...draft, ...found };
}

function begun({ columns, suits }: Instance): Table {
  return { columns: columns.map((column) => [...column]), cells: [], home: range(suits).map(() => 0) };
}

function nameOf({ suit, rank }: Card): string {
  return `${SUITS[suit]} ${rank}`;
}

/** Null where the move is not allowed. */
function moved({ cells }: Instance, table: Table, { card: name, to }: Move): Table | null {
  const from = table.columns.findIndex((column) => column.length > 0 && nameOf(at(column, column.length - 1)) === name);
  const cell = table.cells.findIndex((card) => nameOf(card) === name);
  const card = from >= 0 ? table.columns[from]?.at(-1) : table.cells[cell];
  if (card === undefined) return null;
  const columns = table.columns.map((column, index) => (index === from ? column.slice(0, -1) : column));
  const rest = {
    columns,
    cells: from >= 0 ? table.cells : table.cells.filter((_, index) => index !== cell),
    home: [...table.home],
  };
  if (to === "home") {
    if (at(table.home, card.suit) !== card.rank - 1) return null;
    rest.home[card.suit] = card.rank;
    return rest;
  }
  if (to === "cell") return from < 0 || table.cells.length >= cells ? null : { ...rest, cells: [...rest.cells, card] };
  const target = Number(/^column (\d{1,2})$/u.exec(to)?.[1] ?? 0) - 1;
  const column = columns[target];
  const top = column?.at(-1);
  if (
    column === undefined ||
    target === from ||
    (top !== undefined && (top.rank !== card.rank + 1 || top.suit === card.suit))
  )
    return null;
  columns[target] = [...column, card];
  return rest;
}

function movesOf(instance: Instance, table: Table): { move: Move; next: Table }[] {
  const free = [...table.cells, ...table.columns.flatMap((column) => column.slice(-1))];
  const places = ["home", ...range(table.columns.length).map((column) => `column ${column + 1}`), "cell"];
  return free.flatMap((card) =>
    places.flatMap((to) => {
      const move = { card: nameOf(card), to };
      const next = moved(instance, table, move);
      return next === null ? [] : [{ move, next }];
    }),
  );
}

/** A search that keeps the best tables of each step; null where it finds no end. */
function search(instance: Instance): { moves: Move[]; searched: number } | null {
  const seen = new Set<string>();
  let reached = [{ table: begun(instance), moves: [] as Move[] }];
  let searched = 0;
  for (let step = 0; step < MOST_MOVES && reached.length > 0; step++) {
    const next: (typeof reached)[number][] = [];
    for (const { table, moves } of reached)
      for (const { move, next: after } of movesOf(instance, table)) {
        const key = keyOf(after);
        if (seen.has(key)) continue;
        seen.add(key);
        searched += 1;
        const path = [...moves, move];
        if (after.home.every((count) => count === instance.ranks)) return { moves: path, searched };
        next.push({ table: after, moves: path });
      }
    reached = next
      .map((one) => ({ one, merit: meritOf(one.table) }))
      .toSorted((a, b) => b.merit - a.merit)
      .slice(0, WIDTH)
      .map(({ one }) => one);
  }
  return null;
}

/** Equal for tables that differ only in the order of columns and cells. */
function keyOf({ columns, cells }: Table): string {
  const text = (cards: readonly Card[]): string => cards.map(({ suit, rank }) => suit * 16 + rank).join(",");
  return `${columns.map(text).toSorted().join(";")}|${cells
    .map((card) => text([card]))
    .toSorted()
    .join(",")}`;
}

/** Cards at home count most; cards that lie on smaller ones of any suit, and full cells, count against a table. */
function meritOf({ columns, cells, home }: Table): number {
  const blocked = columns.reduce(
    (sum, column) =>
      sum + column.filter((card, place) => column.slice(0, place).some((below) => below.rank < card.rank)).length,
    0,
  );
  return (
    4 * home.reduce((a, b) => a + b, 0) -
    3 * blocked -
    cells.length +
    columns.filter((column) => column.length === 0).length
  );
}

/** Home whatever fits, as long as something does. */
function greedy(instance: Instance): Move[] {
  const moves: Move[] = [];
  let table = begun(instance);
  for (;;) {
    const next = movesOf(instance, table).find(({ move }) => move.to === "home");
    if (next === undefined)
      return moves.length === 0 ? [{ card: nameOf(at(at(instance.columns, 0), 0)), to: "home" }] : moves;
    moves.push(next.move);
    table = next.next;
  }
}

function isWonGreedily(instance: Instance): boolean {
  return greedy(instance).length === instance.suits * instance.ranks;
}

function shownTable({ suits, cells }: Instance, table: Table): object {
  return {
    columns: table.columns.map((column) => column.map(nameOf)),
    cells: table.cells.map(nameOf),
    free_cells: cells - table.cells.length,
    home: Object.fromEntries(range(suits).map((suit) => [SUITS[suit], table.home[suit]])),
  };
}

function script(moves: readonly Move[]): Script {
  return [call("look"), ...moves.map((move) => call("move", { ...move }))];
}

function rules({ suits, ranks, cells, columns }: Instance): string {
  return `There are ${suits} suits with ranks 1 to ${ranks}, ${columns.length} columns and ${cells} ${cells === 1 ? "cell" : "cells"}. Only the last card of a column and cards in cells can move, one at a time. A card may go onto the last card of a column if that one is exactly one rank higher and of another suit, into an empty column, into an empty cell, or home, where each suit is built up from 1.`;
}
