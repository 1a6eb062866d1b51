/** `prl env list --catalogue`: the generated tasks by category and family. */
import { CATALOGUE_CATEGORIES, catalogueRows, drawInstance, idOf, LEVELS } from "../../../environments/internal.ts";
import type { PlacedRow } from "../../../environments/internal.ts";
import { PrlError } from "../../../errors.ts";
import { createRng } from "../../../random/rng.ts";
import { type CommandIo, EXIT } from "../../command.ts";

interface TaskEntry {
  readonly id: string;
  readonly category: string;
  readonly family: string;
  readonly description: string;
  /** The size of one task of the requested level. */
  readonly size?: { readonly level: number; readonly characters: number; readonly steps: number };
}

export async function listCatalogue(options: ReadonlyMap<string, string>, io: CommandIo): Promise<number> {
  const named = options.get("--category");
  const categories = CATALOGUE_CATEGORIES.filter((category) => named === undefined || category === named);
  if (categories.length === 0) {
    const known = CATALOGUE_CATEGORIES.join(", ");
    throw new PrlError("PRL_CLI_USAGE", `prl env list: there is no category "${named}"; there are ${known}`);
  }
  const level = LEVELS.find((one) => String(one) === options.get("--difficulty"));
  const entries = (await catalogueRows(categories)).map((placed) => entryOf(placed, level));
  if (io.json) io.writeJson({ categories, tasks: entries });
  else io.stdout.write(textOf(entries));
  return EXIT.done;
}

function entryOf(placed: PlacedRow, level: (typeof LEVELS)[number] | undefined): TaskEntry {
  const { category, family, row } = placed;
  const entry = { id: idOf(placed), category, family, description: row.asks };
  if (level === undefined) return entry;
  const { prompt, instance } = drawInstance(row, level, createRng(0));
  return { ...entry, size: { level, characters: prompt.length, steps: row.effort(instance) } };
}

function textOf(entries: readonly TaskEntry[]): string {
  const widest = Math.max(...entries.map(({ id }) => id.length));
  const families = [...new Set(entries.map(({ category, family }) => `${category}: ${family}`))];
  const blocks = families.map((title) => {
    const lines = entries
      .filter(({ category, family }) => `${category}: ${family}` === title)
      .map(({ id, description, size }) => {
        const measured = size === undefined ? "" : ` (${size.characters} characters, ${size.steps} steps)`;
        return `  ${id.padEnd(widest)}  ${description}${measured}\n`;
      });
    return `${title}\n${lines.join("")}`;
  });
  const mixtures = [...new Set(entries.map(({ category }) => `catalogue/${category}`)), "catalogue/all"];
  return `${blocks.join("\n")}\n${entries.length} tasks; mixtures: ${mixtures.join(", ")}\n`;
}
