import { fileURLToPath } from "node:url";

/** The example's model folder: config and tokenizer, no weights. */
export const REVERSE_TEXT_MODEL = fileURLToPath(new URL("../../../../configs/reverse-text/model", import.meta.url));
