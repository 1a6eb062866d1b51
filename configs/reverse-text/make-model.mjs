/**
 * Makes `model/`: the architecture and the byte-level tokenizer of the reverse-text example. No weights: a run draws
 * them from its seed.
 *
 *     node configs/reverse-text/make-model.mjs
 *
 * Vocabulary of 260: ids 0 to 255 are the byte values, 256 `<pad>`, 257 `<eos>` (ends every answer), 258 `<|im_start|>`
 * and 259 `<|im_end|>`: unused here, they are there so that a model made from this folder can be given a ChatML chat
 * template.
 */
import { addedToken, byteCharacters, writeSmallModel } from "../small-model.mjs";

const CONTEXT = 128;

const plain = byteCharacters();
const [pad, eos, ...unused] = ["<pad>", "<eos>", "<|im_start|>", "<|im_end|>"].map((content, index) =>
  addedToken(plain.length + index, content),
);
await writeSmallModel(new URL("model/", import.meta.url), {
  plain,
  added: [pad, eos, ...unused],
  pad,
  eos,
  stops: eos.id,
  context: CONTEXT,
  words: false,
});
