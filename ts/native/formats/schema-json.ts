/**
 * A JSON Schema as the text that the engine makes a grammar of. The grammar holds numbers as doubles. Whole numbers between two of them
 * (`exact-json.ts`) are refused where a value has to be equal to them; a bound becomes the nearest double within it, so that what is sampled
 * is always within it.
 */
import { PrlError } from "../../errors.ts";
import { exactJson } from "../../exact-json.ts";

/** Bounds, and the direction that is inside of them. */
const INWARD: Readonly<Record<string, 1 | -1>> = {
  minimum: 1,
  exclusiveMinimum: 1,
  maximum: -1,
  exclusiveMaximum: -1,
};
/** Keywords whose numbers are values, not bounds. */
const VALUES = new Set(["const", "enum", "multipleOf"]);
/** Keywords whose keys are names. */
const TABLES = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

/** Errors: PRL_GRAMMAR_INVALID naming the keyword and the number. */
export function schemaJson(schema: unknown): string {
  return exactJson(ofDoubles(schema));
}

function ofDoubles(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(ofDoubles);
  if (typeof schema !== "object" || schema === null) return schema;
  return mapped(schema, (value, keyword) => {
    if (TABLES.has(keyword) && typeof value === "object" && value !== null) return mapped(value, ofDoubles);
    if (VALUES.has(keyword)) refuseBetween(value, keyword);
    const direction = INWARD[keyword];
    return typeof value === "bigint" && direction !== undefined ? inside(value, direction) : ofDoubles(value);
  });
}

function mapped(table: object, change: (value: unknown, key: string) => unknown): object {
  return Object.fromEntries(Object.entries(table).map(([key, value]) => [key, change(value, key)]));
}

function refuseBetween(value: unknown, keyword: string): void {
  if (typeof value === "bigint" && BigInt(Number(value)) !== value) {
    const problem = `${value} is beyond 2^53 and no double, so that a grammar cannot have it`;
    throw new PrlError("PRL_GRAMMAR_INVALID", `JSON Schema: ${keyword}: ${problem}; ask for a text`);
  }
  if (typeof value === "object" && value !== null) for (const one of Object.values(value)) refuseBetween(one, keyword);
}

/** The double nearest to a bound that is within it. */
function inside(bound: bigint, direction: 1 | -1): bigint {
  const nearest = BigInt(Number(bound));
  const isOutside = direction === 1 ? nearest < bound : nearest > bound;
  return isOutside ? BigInt(neighbour(Number(bound), direction)) : nearest;
}

/** The next double above or below one that is not 0. */
function neighbour(value: number, direction: 1 | -1): number {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  view.setBigInt64(0, view.getBigInt64(0) + BigInt(value > 0 ? direction : -direction));
  return view.getFloat64(0);
}
