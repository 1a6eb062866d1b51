/** A small tokenizer.json of each family: how it splits text matters little here, how it decodes is that of the models named. */

type TokenizerJson = Record<string, unknown>;

const LETTERS = [...Array.from("abcdefghijklmnopqrstuvwxyz.,!?'-"), "你", "é"];
const BYTES = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const SPECIAL = ["<unk>", "<s>", "</s>"];
const REPLACE_SPACE = { type: "Replace", pattern: { String: "▁" }, content: " " };

function added(tokens: readonly string[]): object[] {
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true };
  return tokens.map((content, id) => ({ id, content, ...flags }));
}

const idsOf = (tokens: readonly string[]): Record<string, number> =>
  Object.fromEntries(tokens.map((token, id) => [token, id]));

function file(parts: TokenizerJson): TokenizerJson {
  const empty = { truncation: null, padding: null, normalizer: null, pre_tokenizer: null, post_processor: null };
  return { version: "1.0", ...empty, added_tokens: added(SPECIAL), ...parts };
}

/** GPT-2's letters for bytes. */
function byteLetters(): string[] {
  const printable = (byte: number): boolean => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

function bpe(vocab: readonly string[], more: TokenizerJson): TokenizerJson {
  const model = { type: "BPE", dropout: null, unk_token: "<unk>", continuing_subword_prefix: null, fuse_unk: true };
  return { ...model, end_of_word_suffix: null, byte_fallback: false, vocab: idsOf(vocab), merges: [], ...more };
}

const byteLevel = file({
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: bpe([...SPECIAL, ...byteLetters(), "Ġa", "ab", "ä½"], { unk_token: null, merges: ["Ġ a", "a b", "ä ½"] }),
});

const pieces = ["▁", ...LETTERS, "▁a", "▁b", "ab", "▁▁"];
const merges = ["▁ a", "▁ b", "a b", "▁ ▁"];

function byteFallback(decoder: object): TokenizerJson {
  return file({
    normalizer: {
      type: "Sequence",
      normalizers: [
        { type: "Prepend", prepend: "▁" },
        { type: "Replace", pattern: { String: " " }, content: "▁" },
      ],
    },
    decoder,
    model: bpe([...SPECIAL, ...BYTES, ...pieces], { byte_fallback: true, merges }),
  });
}

const metaspace = { type: "Metaspace", replacement: "▁", prepend_scheme: "always", split: true };

export const TOKENIZER_FAMILIES: Readonly<Record<string, TokenizerJson>> = {
  "byte-level BPE": byteLevel,
  "byte-fallback BPE that strips a blank, as Llama 2": byteFallback({
    type: "Sequence",
    decoders: [
      REPLACE_SPACE,
      { type: "ByteFallback" },
      { type: "Fuse" },
      { type: "Strip", content: " ", start: 1, stop: 0 },
    ],
  }),
  "byte-fallback BPE, as Gemma": byteFallback({
    type: "Sequence",
    decoders: [REPLACE_SPACE, { type: "ByteFallback" }, { type: "Fuse" }],
  }),
  "byte-fallback unigram": file({
    pre_tokenizer: metaspace,
    decoder: { type: "Sequence", decoders: [{ type: "ByteFallback" }, metaspace] },
    model: {
      type: "Unigram",
      unk_id: 0,
      byte_fallback: true,
      vocab: [...SPECIAL, ...BYTES, ...pieces].map((piece, index) => [piece, -index / 100]),
    },
  }),
  "unigram with metaspace, as T5": file({
    pre_tokenizer: metaspace,
    decoder: metaspace,
    model: { type: "Unigram", unk_id: 0, vocab: [...SPECIAL, ...pieces].map((piece, index) => [piece, -index / 100]) },
  }),
  "WordPiece, as BERT": file({
    pre_tokenizer: { type: "BertPreTokenizer" },
    decoder: { type: "WordPiece", prefix: "##", cleanup: true },
    model: {
      type: "WordPiece",
      unk_token: "<unk>",
      continuing_subword_prefix: "##",
      max_input_chars_per_word: 100,
      vocab: idsOf([...SPECIAL, ...LETTERS, ...LETTERS.map((letter) => `##${letter}`), "n't", "##n't"]),
    },
  }),
};
