/** Triggers that keep the rules, as SQL: those of the gold script, and weaker ones. */
import type { Books, Names } from "./books.ts";
import type { Rule } from "./rules.ts";

/** How triggers are written. `full` keeps every rule. */
export type Style = "full" | "inserts only" | "adds differences" | "overlooks null" | "refuses all";

/** Statements that make the triggers. */
export function guards(books: Books, rules: readonly Rule[], style: Style = "full"): string[] {
  const { names } = books;
  const { head, line } = names;
  if (style === "refuses all") {
    return [line, head, "journal"].flatMap((table) =>
      ["INSERT", "UPDATE", "DELETE"].map(
        (verb) => `CREATE TRIGGER no_${verb}_${table} BEFORE ${verb} ON ${table} BEGIN ${refuse("closed", "1")} END`,
      ),
    );
  }
  const has = (rule: Rule): boolean => rules.includes(rule);
  const onInsert = lineChecks(books, rules, style, false);
  const onUpdate = style === "inserts only" ? [] : lineChecks(books, rules, style, true);
  const frozenOld = has("frozen") ? [refuse("frozen", isClosed(names, "OLD"))] : [];
  const follows = has("follows");
  return [
    trigger("put_before", `BEFORE INSERT ON ${line}`, onInsert),
    trigger("change_before", `BEFORE UPDATE ON ${line}`, style === "inserts only" ? [] : [...frozenOld, ...onUpdate]),
    trigger("take_before", `BEFORE DELETE ON ${line}`, style === "inserts only" ? [] : frozenOld),
    trigger("put_after", `AFTER INSERT ON ${line}`, follows ? settled(books, rules, style, ["NEW"]) : []),
    trigger("change_after", `AFTER UPDATE ON ${line}`, follows ? settled(books, rules, style, ["OLD", "NEW"]) : []),
    trigger("take_after", `AFTER DELETE ON ${line}`, follows ? settled(books, rules, style, ["OLD"]) : []),
    ...headGuards(books, rules),
    ...(has("append") ? journalGuards() : []),
  ].flat();
}

function trigger(name: string, event: string, body: readonly string[]): string[] {
  return body.length === 0 ? [] : [`CREATE TRIGGER ${name} ${event} BEGIN ${body.join(" ")} END`];
}

function refuse(rule: string, condition: string): string {
  return `SELECT RAISE(ABORT, '${rule}') WHERE ${condition};`;
}

function isClosed({ head }: Names, row: string): string {
  return `(SELECT status FROM ${head} WHERE id = ${row}.${head}_id) <> 'open'`;
}

function sumFor({ head, line, quantity }: Names, id: string): string {
  return `(SELECT COALESCE(SUM(${quantity} * price), 0) FROM ${line} WHERE ${head}_id = ${id})`;
}

/** Conditions on a new or changed line. */
function lineChecks(books: Books, rules: readonly Rule[], style: Style, isUpdate: boolean): string[] {
  const { names, mostQuantity, mostLines } = books;
  const { head, line, item, quantity } = names;
  const whole = (column: string): string =>
    style === "overlooks null" ? "" : `typeof(NEW.${column}) <> 'integer' OR `;
  const itself = isUpdate
    ? `NOT (${head}_id = OLD.${head}_id AND no = OLD.no)`
    : `NOT (${head}_id = NEW.${head}_id AND no = NEW.no)`;
  const checks: Partial<Record<Rule, string[]>> = {
    range: [`${whole(quantity)}NEW.${quantity} NOT BETWEEN 1 AND ${mostQuantity}`],
    exists: [
      `NOT EXISTS (SELECT 1 FROM ${head} WHERE id = NEW.${head}_id)`,
      `NOT EXISTS (SELECT 1 FROM ${item} WHERE id = NEW.${item}_id)`,
    ],
    price: [`${whole("price")}NEW.price NOT BETWEEN 0 AND (SELECT price FROM ${item} WHERE id = NEW.${item}_id)`],
    frozen: [isClosed(names, "NEW")],
    lines: [`(SELECT COUNT(*) FROM ${line} WHERE ${head}_id = NEW.${head}_id AND ${itself}) >= ${mostLines}`],
  };
  return rules.flatMap((rule) => (checks[rule] ?? []).map((condition) => refuse(rule, condition)));
}

/** Totals after a change of lines, and the limit that they have to keep. */
function settled({ names }: Books, rules: readonly Rule[], style: Style, rows: readonly ("OLD" | "NEW")[]): string[] {
  const { head, quantity, total, party } = names;
  const updates =
    style === "adds differences"
      ? rows.map((row) => {
          const sign = row === "NEW" ? "+" : "-";
          return `UPDATE ${head} SET ${total} = ${total} ${sign} ${row}.${quantity} * ${row}.price WHERE id = ${row}.${head}_id;`;
        })
      : rows.map(
          (row) => `UPDATE ${head} SET ${total} = ${sumFor(names, `${row}.${head}_id`)} WHERE id = ${row}.${head}_id;`,
        );
  if (!rules.includes("limit")) return updates;
  const parties = rows.map((row) => `(SELECT ${party}_id FROM ${head} WHERE id = ${row}.${head}_id)`);
  return [...updates, ...parties.map((id) => refuse("limit", isAbove(names, id)))];
}

function isAbove({ head, party, total }: Names, id: string): string {
  return `(SELECT SUM(${total}) FROM ${head} WHERE ${party}_id = ${id} AND status = 'open') > (SELECT credit FROM ${party} WHERE id = ${id})`;
}

function headGuards({ names }: Books, rules: readonly Rule[]): string[][] {
  const { head, total } = names;
  const fixed = rules.includes("fixed") ? [refuse("fixed", `NEW.${total} IS NOT ${sumFor(names, "NEW.id")}`)] : [];
  const isStep = "(OLD.status = 'open' AND NEW.status IS 'paid') OR (OLD.status = 'paid' AND NEW.status IS 'sent')";
  const steps = rules.includes("steps");
  return [
    trigger("head_before", `BEFORE INSERT ON ${head}`, [
      ...fixed,
      ...(steps ? [refuse("steps", "NEW.status IS NOT 'open'")] : []),
    ]),
    trigger("total_before", `BEFORE UPDATE OF ${total} ON ${head}`, fixed),
    trigger(
      "status_before",
      `BEFORE UPDATE OF status ON ${head}`,
      steps ? [refuse("steps", `NOT (NEW.status IS OLD.status OR ${isStep})`)] : [],
    ),
  ];
}

function journalGuards(): string[][] {
  return [
    trigger("journal_change", "BEFORE UPDATE ON journal", [refuse("append", "1")]),
    trigger("journal_take", "BEFORE DELETE ON journal", [refuse("append", "1")]),
    trigger("journal_put", "BEFORE INSERT ON journal", [
      refuse("append", "EXISTS (SELECT 1 FROM journal WHERE seq = NEW.seq)"),
    ]),
  ];
}
