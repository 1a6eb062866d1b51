/**
 * JSON Schema (draft 2020-12): the part that describes a value.
 *
 * Known: type, enum, const, properties, required, additionalProperties, patternProperties, propertyNames, minProperties, maxProperties,
 * dependentRequired, items, prefixItems, contains, minContains, maxContains, minItems, maxItems, uniqueItems, minimum, maximum,
 * exclusiveMinimum, exclusiveMaximum, multipleOf, minLength, maxLength, pattern, allOf, anyOf, oneOf, not, if, then, else, and $ref within
 * the schema. Annotations (title, description, default, examples, format, ...) assert nothing. Any other keyword is an error, so that a
 * schema is never checked only in part.
 *
 * Not `ajv` (8.20, strict): tasks and requests bring their own schemas, and ajv compiles each to a function, which takes 3 to 9 ms where a whole
 * verdict takes 0.03 ms here (measured in one process); it also generates code from untrusted text, finds 0.3 no multiple of 0.1, and overflows the stack
 * on `{"$ref": "#"}`.
 */

export interface JsonProblem {
  /** JSON Pointer of the value: "" is the whole, "/names/0" the first name. */
  readonly path: string;
  readonly message: string;
}

/** The schema itself is wrong or has unknown keywords. */
export class SchemaError extends Error {}

type JsonObject = Readonly<Record<string, unknown>>;

interface Place {
  readonly root: unknown;
  readonly path: string;
  /** Number of references followed without entering the value. */
  readonly depth: number;
}

const MAX_DEPTH = 100;
const ANNOTATIONS = new Set(
  "$schema $id $comment $defs definitions title description default examples format deprecated readOnly writeOnly contentEncoding contentMediaType".split(
    " ",
  ),
);

/** Problems of a value, in the order of the schema; empty when it is valid. Errors: SchemaError. */
export function validateJson(schema: unknown, value: unknown): JsonProblem[] {
  return check(schema, value, { root: schema, path: "", depth: 0 });
}

function check(schema: unknown, value: unknown, place: Place): JsonProblem[] {
  if (schema === true) return [];
  if (schema === false) return [{ path: place.path, message: "nothing is allowed here" }];
  if (!isObject(schema)) throw new SchemaError(`a schema is an object or a boolean, not ${JSON.stringify(schema)}`);
  if (place.depth > MAX_DEPTH) throw new SchemaError(`references go in circles at "${place.path}"`);
  return Object.entries(schema).flatMap(([keyword, argument]) => {
    const assertion = Object.hasOwn(ASSERTIONS, keyword) ? ASSERTIONS[keyword] : undefined;
    if (assertion !== undefined) return assertion(argument, value, schema, place);
    if (ANNOTATIONS.has(keyword) || SIDE_KEYWORDS.has(keyword)) return [];
    throw new SchemaError(`the schema keyword ${JSON.stringify(keyword)} is not known`);
  });
}

type Assertion = (argument: unknown, value: unknown, schema: JsonObject, place: Place) => JsonProblem[];

/** Keywords that other keywords read. */
const SIDE_KEYWORDS = new Set(["then", "else", "minContains", "maxContains"]);

const ASSERTIONS: Readonly<Record<string, Assertion>> = {
  $ref: (reference, value, _, place) =>
    check(resolve(place.root, reference), value, { ...place, depth: place.depth + 1 }),
  type: (types, value, _, place) => {
    const wanted = (Array.isArray(types) ? types : [types]).map((type) => {
      if (typeof type !== "string" || !TYPES.has(type))
        throw new SchemaError(`there is no type ${JSON.stringify(type)}`);
      return type;
    });
    return fails(!wanted.some((type) => isOfType(value, type)), place, `is not ${wanted.join(" or ")}`);
  },
  enum: (values, value, _, place) =>
    fails(!list("enum", values).some((one) => sameJson(one, value)), place, "is none of the allowed values"),
  const: (wanted, value, _, place) => fails(!sameJson(wanted, value), place, `is not ${JSON.stringify(wanted)}`),

  // ---- numbers ----
  minimum: number((value, bound) => value >= bound, "is below"),
  maximum: number((value, bound) => value <= bound, "is above"),
  exclusiveMinimum: number((value, bound) => value > bound, "is not above"),
  exclusiveMaximum: number((value, bound) => value < bound, "is not below"),
  multipleOf: number((value, step) => isMultiple(value, step), "is no multiple of"),

  // ---- strings ----
  minLength: size(
    (value) => length(value),
    (count, bound) => count >= bound,
    "is shorter than",
  ),
  maxLength: size(
    (value) => length(value),
    (count, bound) => count <= bound,
    "is longer than",
  ),
  pattern: (pattern, value, _, place) =>
    fails(typeof value === "string" && !regexp(pattern).test(value), place, `does not match ${String(pattern)}`),

  // ---- arrays ----
  minItems: size(
    (value) => items(value),
    (count, bound) => count >= bound,
    "has fewer items than",
  ),
  maxItems: size(
    (value) => items(value),
    (count, bound) => count <= bound,
    "has more items than",
  ),
  uniqueItems: (wanted, value, _, place) =>
    fails(
      wanted === true && Array.isArray(value) && new Set(value.map(canonical)).size < value.length,
      place,
      "has an item twice",
    ),
  prefixItems: (schemas, value, _, place) =>
    Array.isArray(value)
      ? list("prefixItems", schemas)
          .slice(0, value.length)
          .flatMap((schema, index) => check(schema, value[index], inside(place, index)))
      : [],
  items: (schema, value, { prefixItems }, place) => {
    const from = Array.isArray(prefixItems) ? prefixItems.length : 0;
    return Array.isArray(value)
      ? value.slice(from).flatMap((item, index) => check(schema, item, inside(place, from + index)))
      : [];
  },
  contains: (schema, value, { minContains = 1, maxContains = Infinity }, place) => {
    if (!Array.isArray(value)) return [];
    const count = value.filter((item, index) => check(schema, item, inside(place, index)).length === 0).length;
    return fails(count < limitOf(minContains) || count > limitOf(maxContains), place, `contains ${count} such items`);
  },

  // ---- objects ----
  required: (names, value, _, place) =>
    isObject(value)
      ? list("required", names).flatMap((name) =>
          fails(typeof name === "string" && !Object.hasOwn(value, name), place, `lacks ${JSON.stringify(name)}`),
        )
      : [],
  properties: (schemas, value, _, place) =>
    isObject(value)
      ? Object.entries(object("properties", schemas)).flatMap(([name, schema]) =>
          Object.hasOwn(value, name) ? check(schema, value[name], inside(place, name)) : [],
        )
      : [],
  patternProperties: (schemas, value, _, place) =>
    isObject(value)
      ? Object.entries(object("patternProperties", schemas)).flatMap(([pattern, schema]) =>
          Object.entries(value).flatMap(([name, one]) =>
            regexp(pattern).test(name) ? check(schema, one, inside(place, name)) : [],
          ),
        )
      : [],
  additionalProperties: (schema, value, { properties = {}, patternProperties = {} }, place) => {
    if (!isObject(value)) return [];
    const known = object("properties", properties);
    const patterns = Object.keys(object("patternProperties", patternProperties)).map(regexp);
    return Object.entries(value)
      .filter(([name]) => !Object.hasOwn(known, name) && !patterns.some((pattern) => pattern.test(name)))
      .flatMap(([name, one]) => check(schema, one, inside(place, name)));
  },
  propertyNames: (schema, value, _, place) =>
    isObject(value) ? Object.keys(value).flatMap((name) => check(schema, name, inside(place, name))) : [],
  minProperties: size(
    (value) => members(value),
    (count, least) => count >= least,
    "has fewer members than",
  ),
  maxProperties: size(
    (value) => members(value),
    (count, most) => count <= most,
    "has more members than",
  ),
  dependentRequired: (dependents, value, _, place) =>
    isObject(value)
      ? Object.entries(object("dependentRequired", dependents)).flatMap(([name, needed]) =>
          Object.hasOwn(value, name)
            ? list("dependentRequired", needed).flatMap((other) =>
                fails(!Object.hasOwn(value, String(other)), place, `has "${name}" without "${String(other)}"`),
              )
            : [],
        )
      : [],

  // ---- combinations ----
  allOf: (schemas, value, _, place) => list("allOf", schemas).flatMap((schema) => check(schema, value, deeper(place))),
  anyOf: (schemas, value, _, place) =>
    fails(passing(schemas, value, place) === 0, place, "fits none of the alternatives"),
  oneOf: (schemas, value, _, place) => {
    const count = passing(schemas, value, place);
    return fails(count !== 1, place, `fits ${count} of the alternatives, not one`);
  },
  not: (schema, value, _, place) =>
    fails(check(schema, value, deeper(place)).length === 0, place, "is what it must not be"),
  if: (schema, value, { then = true, else: otherwise = true }, place) =>
    check(check(schema, value, deeper(place)).length === 0 ? then : otherwise, value, deeper(place)),
};

function number(holds: (value: number, bound: number) => boolean, failure: string): Assertion {
  return (limit, value, _, place) =>
    fails(typeof value === "number" && !holds(value, limitOf(limit)), place, `${failure} ${String(limit)}`);
}

function size(
  sizeOf: (value: unknown) => number | null,
  holds: (count: number, bound: number) => boolean,
  failure: string,
): Assertion {
  return (limit, value, _, place) => {
    const count = sizeOf(value);
    return fails(count !== null && !holds(count, limitOf(limit)), place, `${failure} ${String(limit)}`);
  };
}

function passing(schemas: unknown, value: unknown, place: Place): number {
  return list("anyOf or oneOf", schemas).filter((schema) => check(schema, value, deeper(place)).length === 0).length;
}

function fails(failed: boolean, { path }: Place, message: string): JsonProblem[] {
  return failed ? [{ path, message }] : [];
}

function inside({ root, path }: Place, key: string | number): Place {
  return { root, path: `${path}/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`, depth: 0 };
}

function deeper(place: Place): Place {
  return { ...place, depth: place.depth + 1 };
}

/** "#" or a JSON Pointer behind it. */
function resolve(root: unknown, reference: unknown): unknown {
  if (typeof reference !== "string" || !/^#(?:\/|$)/u.test(reference)) {
    throw new SchemaError(`the reference ${JSON.stringify(reference)} does not point into the schema`);
  }
  const steps = reference.split("/").slice(1);
  return steps.reduce<unknown>((schema, step) => {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
    const found = typeof schema === "object" && schema !== null && Object.hasOwn(schema, key);
    if (!found) throw new SchemaError(`the reference ${reference} points to nothing`);
    return (schema as JsonObject)[key];
  }, root);
}

// ---- values ----

const TYPES = new Set(["null", "boolean", "object", "array", "number", "string", "integer"]);

function isOfType(value: unknown, type: string): boolean {
  if (type === "null") return value === null;
  if (type === "array") return Array.isArray(value);
  if (type === "object") return isObject(value);
  if (type === "integer") return Number.isInteger(value);
  return typeof value === type;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function length(value: unknown): number | null {
  return typeof value === "string" ? Array.from(value).length : null;
}

function items(value: unknown): number | null {
  return Array.isArray(value) ? value.length : null;
}

function members(value: unknown): number | null {
  return isObject(value) ? Object.keys(value).length : null;
}

/** By their decimal digits, so that 0.3 is a multiple of 0.1. */
function isMultiple(value: number, step: number): boolean {
  if (!(step > 0)) throw new SchemaError("multipleOf takes a number above 0");
  const places = (one: number): number => {
    const [mantissa = "", exponent = "0"] = String(one).split("e");
    return Math.max(0, (mantissa.split(".")[1]?.length ?? 0) - Number(exponent));
  };
  const digits = Math.max(places(value), places(step));
  if (digits > 300 || Math.abs(value) >= 1e15 * step) return Number.isInteger(value / step);
  const whole = (one: number): bigint => BigInt(one.toFixed(Math.min(100, digits)).replace(".", ""));
  return whole(value) % whole(step) === 0n;
}

function sameJson(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

// ---- arguments of keywords ----

function limitOf(value: unknown): number {
  if (typeof value !== "number" || Number.isNaN(value)) throw new SchemaError(`${JSON.stringify(value)} is no number`);
  return value;
}

function list(keyword: string, value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) throw new SchemaError(`${keyword} takes a list`);
  return value;
}

function object(keyword: string, value: unknown): JsonObject {
  if (!isObject(value)) throw new SchemaError(`${keyword} takes an object`);
  return value;
}

function regexp(pattern: unknown): RegExp {
  try {
    return new RegExp(String(pattern), "u");
  } catch (cause) {
    throw new SchemaError(`the pattern ${JSON.stringify(pattern)} is no regular expression`, { cause });
  }
}
