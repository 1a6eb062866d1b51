/**
 * Makes `model/`: the architecture and the byte-level tokenizer of the reverse-text example. No weights: a run draws
 * them from its seed.
 *
 *     npm run build:ts && node configs/reverse-text/make-model.mjs [folder]
 *
 * Vocabulary of 260: ids 0 to 255 are the byte values, 256 `<pad>`, 257 `<eos>` (ends every answer), 258 `<|im_start|>`
 * and 259 `<|im_end|>`: of the chat template, which the example does not use. It is the one that prl has for ChatML, there
 * so that other servers render conversations as prl does.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { FAMILIES } from "../../dist/renderers/families.js";
import { addedToken, byteCharacters, writeSmallModel } from "../small-model.mjs";

const CONTEXT = 128;
const [, , place] = process.argv;
const folder = place === undefined ? new URL("model/", import.meta.url) : pathToFileURL(`${resolve(place)}/`);

const plain = byteCharacters();
const [pad, eos, ...ofChat] = ["<pad>", "<eos>", "<|im_start|>", "<|im_end|>"].map((content, index) =>
  addedToken(plain.length + index, content),
);
await writeSmallModel(folder, {
  plain,
  added: [pad, eos, ...ofChat],
  pad,
  eos,
  stops: eos.id,
  context: CONTEXT,
  words: false,
  chatTemplate: FAMILIES.chatml.template,
});
