/**
 * A zod schema as a predicate: whether a value that was parsed from JSON already equals the schema's output. A message that comes
 * thousands of times a second is nearly always correct; zod handles the others: it fills in defaults and says what is wrong.
 *
 * True means that the schema accepts the value and that its output equals it. False only means that zod has to be asked. A kind of
 * schema that is not among those below fits nothing.
 */
import { z } from "zod";

export type Fits = (value: unknown) => boolean;

/** Compiles `schema`, which must not contain itself. */
export function exactFit(schema: z.core.$ZodType): Fits {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodReadonly)
    return exactFit(schema.def.innerType);
  if (schema instanceof z.ZodNullable) return either([(value) => value === null, exactFit(schema.def.innerType)]);
  if (schema instanceof z.ZodUnion) return either(schema.def.options.map(exactFit));
  if (schema instanceof z.ZodUnknown) return (value) => value !== undefined;
  if (schema instanceof z.ZodBoolean) return (value) => typeof value === "boolean";
  if (schema instanceof z.ZodEnum) return oneOf(schema.options);
  if (schema instanceof z.ZodLiteral) return oneOf([...schema.values]);
  if (schema instanceof z.ZodNumber && schema.format === "safeint") return wholeNumber(schema);
  if (hasChecks(schema)) return fitsNothing;
  if (schema instanceof z.ZodString) return (value) => typeof value === "string";
  if (schema instanceof z.ZodNumber) return Number.isFinite;
  if (schema instanceof z.ZodArray) return list(exactFit(schema.element));
  if (schema instanceof z.ZodRecord && schema.keyType instanceof z.ZodString && !hasChecks(schema.keyType))
    return dictionary(exactFit(schema.valueType));
  if (schema instanceof z.ZodObject && schema.def.catchall instanceof z.ZodNever) return strictObject(schema.shape);
  return fitsNothing;
}

const fitsNothing: Fits = () => false;

function hasChecks({ _zod }: z.core.$ZodType): boolean {
  return (_zod.def.checks ?? []).length > 0;
}

/** Whole numbers, where requested from 0 on. */
function wholeNumber({ _zod }: z.ZodNumber): Fits {
  const checks = (_zod.def.checks ?? []).map(({ _zod: { def } }) => def as Partial<z.core.$ZodCheckGreaterThanDef>);
  if (checks.length === 0) return Number.isSafeInteger;
  const isFromZero = checks.every(
    ({ check, value, inclusive }) => check === "greater_than" && value === 0 && inclusive,
  );
  return isFromZero ? (value) => Number.isSafeInteger(value) && Number(value) >= 0 : fitsNothing;
}

function oneOf(values: readonly unknown[]): Fits {
  const all = new Set(values);
  return (value) => all.has(value);
}

function either(fits: readonly Fits[]): Fits {
  return (value) => fits.some((one) => one(value));
}

function list(fits: Fits): Fits {
  return (value) => Array.isArray(value) && value.every(fits);
}

/** zod drops `__proto__`, so a record with this key does not fit. */
function dictionary(fits: Fits): Fits {
  return (value) => {
    if (!isObject(value)) return false;
    for (const key in value) if (key === "__proto__" || !fits(value[key])) return false;
    return true;
  };
}

/** Every key is in the shape, and only optional ones are missing. */
function strictObject(shape: Readonly<Record<string, z.core.$ZodType>>): Fits {
  const keys = new Map(Object.entries(shape).map(([key, schema]) => [key, exactFit(schema)]));
  const required = [...keys.keys()].filter((key) => !(shape[key] instanceof z.ZodOptional));
  return (value) => {
    if (!isObject(value)) return false;
    for (const key in value) if (keys.get(key)?.(value[key]) !== true) return false;
    for (const key of required) if (!Object.hasOwn(value, key)) return false;
    return true;
  };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
