/** Small ONNX files, written byte by byte: protobuf as onnx.proto numbers its fields. */

type Field = readonly [number: number, value: number | string | Uint8Array | readonly Field[]];

const INT64 = 7;
const FLOAT = 1;

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    bytes.push(Number(rest & 0x7fn) | (rest > 0x7fn ? 0x80 : 0));
    rest >>= 7n;
  } while (rest > 0n);
  return bytes;
}

function encode(fields: readonly Field[]): Uint8Array {
  return Uint8Array.from(
    fields.flatMap(([number, value]) => {
      if (typeof value === "number") return [...varint(number * 8), ...varint(value)];
      const bytes =
        typeof value === "string"
          ? new TextEncoder().encode(value)
          : value instanceof Uint8Array
            ? value
            : encode(value);
      return [...varint(number * 8 + 2), ...varint(bytes.length), ...bytes];
    }),
  );
}

/** A tensor that the file holds. */
function initializer(name: string, data: Float32Array | BigInt64Array, dims: readonly number[]): Field {
  const raw = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const type = data instanceof Float32Array ? FLOAT : INT64;
  return [5, [...dims.map((dim): Field => [1, dim]), [2, type], [8, name], [9, raw]]];
}

function node(operator: string, inputs: readonly string[], output: string, attributes: readonly Field[] = []): Field {
  return [1, [...inputs.map((input): Field => [1, input]), [2, output], [4, operator], ...attributes]];
}

function integerAttribute(name: string, value: number): Field {
  return [
    5,
    [
      [1, name],
      [3, value],
      [20, 2],
    ],
  ];
}

/** Dimensions by name or size. */
function tensorInfo(field: 11 | 12, name: string, type: number, dims: readonly (string | number)[]): Field {
  const shape: Field[] = dims.map((dim) => [1, [typeof dim === "number" ? [1, dim] : [2, dim]]]);
  return [
    field,
    [
      [1, name],
      [
        2,
        [
          [
            1,
            [
              [1, type],
              [2, shape],
            ],
          ],
        ],
      ],
    ],
  ];
}

function model(graph: readonly Field[]): Uint8Array {
  return encode([
    [1, 8],
    [
      8,
      [
        [1, ""],
        [2, 13],
      ],
    ],
    [7, [...graph, [2, "small"]]],
  ]);
}

const TOKENS = ["batch", "tokens"];

/** `last_hidden_state`: the row of `table` (rows x width) for each token. */
export function embeddingModel(table: readonly (readonly number[])[]): Uint8Array {
  const width = table[0]?.length ?? 0;
  return model([
    node("Gather", ["table", "input_ids"], "last_hidden_state"),
    initializer("table", Float32Array.from(table.flat()), [table.length, width]),
    tensorInfo(11, "input_ids", INT64, TOKENS),
    tensorInfo(11, "attention_mask", INT64, TOKENS),
    tensorInfo(12, "last_hidden_state", FLOAT, [...TOKENS, width]),
  ]);
}

/** `logits`: the sum of `table`'s rows over the tokens that are no padding. */
export function rewardModel(table: readonly (readonly number[])[]): Uint8Array {
  const width = table[0]?.length ?? 0;
  return model([
    node("Gather", ["table", "input_ids"], "rows"),
    node("Cast", ["attention_mask"], "mask", [integerAttribute("to", FLOAT)]),
    node("Unsqueeze", ["mask", "two"], "column"),
    node("Mul", ["rows", "column"], "masked"),
    node("ReduceSum", ["masked", "one"], "logits", [integerAttribute("keepdims", 0)]),
    initializer("table", Float32Array.from(table.flat()), [table.length, width]),
    initializer("one", BigInt64Array.of(1n), [1]),
    initializer("two", BigInt64Array.of(2n), [1]),
    tensorInfo(11, "input_ids", INT64, TOKENS),
    tensorInfo(11, "attention_mask", INT64, TOKENS),
    tensorInfo(12, "logits", FLOAT, ["batch", width]),
  ]);
}

/** A model with an input that no text has. */
export function strangeModel(): Uint8Array {
  return model([
    node("Identity", ["pixels"], "out"),
    tensorInfo(11, "pixels", FLOAT, ["batch"]),
    tensorInfo(12, "out", FLOAT, ["batch"]),
  ]);
}
