/** JSON Schemas of many kinds, bounded so that a model with random weights reaches their end. */
const text = { type: "string", maxLength: 8 };
const closed = (properties: Record<string, unknown>, required = Object.keys(properties)) => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

export const SCHEMAS: Readonly<Record<string, object>> = {
  null: { type: "null" },
  boolean: { type: "boolean" },
  "small integer": { type: "integer", minimum: -20, maximum: 300 },
  "exclusive bounds": { type: "number", exclusiveMinimum: 0, exclusiveMaximum: 1 },
  "multiple of 5": { type: "integer", minimum: 0, maximum: 100, multipleOf: 5 },
  "short string": text,
  "lengths of a string": { type: "string", minLength: 2, maxLength: 5 },
  "string with a pattern": { type: "string", pattern: "^[a-f]{2}-[0-9]{1,3}$" },
  date: { type: "string", format: "date" },
  uuid: { type: "string", format: "uuid" },
  ipv4: { type: "string", format: "ipv4" },
  enum: { enum: ["red", "dark green", 7, null, { a: [1] }] },
  const: { const: { nested: ["value", 2] } },
  "flat object": closed({ name: text, age: { type: "integer", minimum: 0, maximum: 150 } }),
  "optional properties": closed({ a: { type: "boolean" }, b: { type: "null" }, c: { enum: [1, 2] } }, ["b"]),
  "nested object": closed({ outer: closed({ inner: closed({ leaf: { type: "boolean" } }) }) }),
  "array of integers": { type: "array", items: { type: "integer", minimum: 0, maximum: 9 }, minItems: 2, maxItems: 4 },
  "array of objects": { type: "array", items: closed({ id: { enum: ["x", "y"] } }), maxItems: 3 },
  tuple: { type: "array", prefixItems: [{ type: "boolean" }, { enum: ["a"] }], items: false, minItems: 2 },
  "several types": { type: ["boolean", "null"] },
  anyOf: { anyOf: [{ type: "boolean" }, closed({ kind: { const: "k" } })] },
  "oneOf of constants": { oneOf: [{ const: "a" }, { const: "b" }] },
  allOf: { allOf: [closed({ a: { type: "boolean" } }), { type: "object" }] },
  reference: { $defs: { flag: { type: "boolean" } }, ...closed({ left: { $ref: "#/$defs/flag" } }) },
  recursion: { $defs: { list: { type: "array", items: { $ref: "#/$defs/list" }, maxItems: 1 } }, $ref: "#/$defs/list" },
  "pattern of names": {
    type: "object",
    patternProperties: { "^n[0-9]$": { type: "boolean" } },
    additionalProperties: false,
    maxProperties: 2,
  },
  "additional properties": { type: "object", additionalProperties: { type: "boolean" }, maxProperties: 1 },
  "escaped names": closed({ 'a "quoted"\n': { type: "null" }, "ünïcödé \u{1F600}": { type: "null" } }),
};
