/**
 * Reads a zod schema as data: its keys, their types, defaults and metadata.
 *
 * Help, flags, environment variables and messages all use it, so that the schema stays the only list of keys.
 */
import { z } from "zod";
import type { KeyPath } from "./key-path.ts";
import type { PathBase } from "../schema/fields.ts";

type AnySchema = z.core.$ZodType;

/** One key of a schema without its wrappers. */
export interface SchemaNode {
  /** The schema inside optional, nullable, default and transform. */
  readonly inner: AnySchema;
  readonly nullable: boolean;
  /** May be left out. */
  readonly optional: boolean;
  /** Value when left out; undefined for blocks, whose keys have their own, and for required keys. */
  readonly defaultValue: unknown;
  readonly description: string;
  readonly relativeTo: PathBase | undefined;
  /** The key of a block that a bare flag sets. */
  readonly shorthand: string | undefined;
}

/** Removes the wrappers and gathers their data; the outermost value counts. */
export function nodeOf(schema: AnySchema): SchemaNode {
  let inner = schema;
  let nullable = false;
  let optional = false;
  let required = false;
  let defaultValue: unknown;
  let meta: z.core.GlobalMeta = {};
  for (;;) {
    meta = { ...z.globalRegistry.get(inner), ...meta };
    if (inner instanceof z.ZodDefault) {
      optional = true;
      defaultValue ??= inner.def.defaultValue;
      inner = inner.def.innerType;
    } else if (isOptional(inner)) {
      optional = true;
      inner = inner.def.innerType;
    } else if (inner instanceof z.ZodNonOptional) {
      required = true;
      inner = inner.def.innerType;
    } else if (inner instanceof z.ZodNullable) {
      nullable = true;
      inner = inner.def.innerType;
    } else if (inner instanceof z.ZodPipe) {
      inner = inner.def.in;
    } else break;
  }
  return {
    inner,
    nullable,
    optional: optional && !required,
    defaultValue,
    description: meta.description ?? "",
    relativeTo: meta["relativeTo"] as PathBase | undefined,
    shorthand: meta["shorthand"] as string | undefined,
  };
}

function isOptional(schema: AnySchema): schema is z.ZodPrefault | z.ZodOptional | z.ZodExactOptional {
  return schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional || schema instanceof z.ZodExactOptional;
}

/** The keys of a block in order, undefined when the schema is not a block. */
export function shapeOf(schema: AnySchema): Readonly<Record<string, AnySchema>> | undefined {
  const { inner } = nodeOf(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

/** The schema of one key or list element of `schema`, undefined when there is no such key. */
export function childOf(schema: AnySchema, part: string | number): AnySchema | undefined {
  const { inner } = nodeOf(schema);
  if (inner instanceof z.ZodObject) {
    const shape = inner.shape as Record<string, AnySchema>;
    return Object.hasOwn(shape, part) ? shape[part] : undefined;
  }
  if (inner instanceof z.ZodRecord) return inner.def.valueType;
  if (inner instanceof z.ZodArray && isIndex(part)) return inner.element;
  if (inner instanceof z.ZodTuple && isIndex(part)) return inner.def.items[Number(part)];
  if (inner instanceof z.ZodUnknown) return inner;
  return undefined;
}

export function schemaAt(root: AnySchema, path: KeyPath): AnySchema | undefined {
  let schema: AnySchema | undefined = root;
  for (const part of path) {
    if (schema === undefined) return undefined;
    schema = childOf(schema, part);
  }
  return schema;
}

export function isList(schema: AnySchema): boolean {
  const { inner } = nodeOf(schema);
  return inner instanceof z.ZodArray || inner instanceof z.ZodTuple;
}

/** A free-form table whose keys the schema does not know, or any value at all. */
export function isFreeForm(schema: AnySchema): boolean {
  const { inner } = nodeOf(schema);
  return inner instanceof z.ZodRecord || inner instanceof z.ZodUnknown;
}

/** The type in words, as in "expected ...": `integer`, `one of "a", "b"`, `list of number`. */
export function typeText(schema: AnySchema): string {
  const { inner } = nodeOf(schema);
  if (inner instanceof z.ZodNumber) return inner.format?.includes("int") === true ? "integer" : "number";
  if (inner instanceof z.ZodBoolean) return "boolean";
  if (inner instanceof z.ZodString || inner instanceof z.ZodStringFormat) return "string";
  if (inner instanceof z.ZodEnum) return oneOf(inner.options);
  if (inner instanceof z.ZodLiteral) return oneOf([...inner.values]);
  if (inner instanceof z.ZodUnion) return inner.options.map((option) => typeText(option)).join(" or ");
  if (inner instanceof z.ZodArray) {
    const element = typeText(inner.element);
    return `list of ${element === "table" ? "tables" : element}`;
  }
  if (inner instanceof z.ZodTuple) return `list of ${inner.def.items.map((item) => typeText(item)).join(", ")}`;
  if (inner instanceof z.ZodObject || inner instanceof z.ZodRecord) return "table";
  return "any value";
}

function oneOf(values: readonly unknown[]): string {
  const shown = values.map((value) => JSON.stringify(value)).join(", ");
  return values.length === 1 ? shown : `one of ${shown}`;
}

/** A key with its place, for help and suggestions. `source.<i>` stands for the elements of a list of blocks. */
export interface SchemaEntry {
  readonly path: readonly string[];
  readonly schema: AnySchema;
  readonly node: SchemaNode;
}

/** Every key below `root`, blocks before their keys, in the order of the schema. */
export function* entries(root: AnySchema, prefix: readonly string[] = []): Generator<SchemaEntry> {
  const shape = shapeOf(root);
  if (shape !== undefined) {
    for (const [key, schema] of Object.entries(shape)) {
      const path = [...prefix, key];
      yield { path, schema, node: nodeOf(schema) };
      yield* entries(schema, path);
    }
    return;
  }
  const { inner } = nodeOf(root);
  if (inner instanceof z.ZodArray && shapeOf(inner.element) !== undefined) {
    yield* entries(inner.element, [...prefix, "<i>"]);
  }
}

function isIndex(part: string | number): boolean {
  return typeof part === "number" || /^\d+$/.test(part);
}
