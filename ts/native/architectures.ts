/** The architectures that the engine runs, by config.json's `model_type` and `architectures` (crates/engine/src/config/mod.rs). */
import { PrlError } from "../errors.ts";

/** `model_type` and the class in `architectures` of each. */
export const ARCHITECTURES: Readonly<Record<string, string>> = {
  llama: "LlamaForCausalLM",
  mistral: "MistralForCausalLM",
  qwen2: "Qwen2ForCausalLM",
  qwen3: "Qwen3ForCausalLM",
  qwen3_moe: "Qwen3MoeForCausalLM",
};
/** Most characters of a file's value in a message. */
const SHOWN_CHARACTERS = 200;

/**
 * Checks a model's architecture without loading the model. `file` is named in messages.
 *
 * Errors: PRL_ENGINE_ARCHITECTURE_UNSUPPORTED naming the key, what it says and what the engine runs.
 */
export function checkArchitecture(config: Readonly<Record<string, unknown>>, file: string): void {
  const { model_type: type = null, architectures = null } = config;
  const refuse = (problem: string): never => {
    const known = Object.entries(ARCHITECTURES).map(([one, name]) => `${name} (${one})`);
    throw new PrlError(
      "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED",
      `${file}: ${problem}: the engine runs ${known.join(", ")}`,
    );
  };
  const shown = (value: unknown): string => JSON.stringify(value).slice(0, SHOWN_CHARACTERS);
  if (type === null && architectures === null) refuse("neither model_type nor architectures is given");
  if (type !== null && !(typeof type === "string" && Object.hasOwn(ARCHITECTURES, type)))
    refuse(`model_type = ${shown(type)} is not implemented`);
  if (architectures === null) return;
  const [name, ...others] = Array.isArray(architectures) ? (architectures as unknown[]) : [];
  const found = others.length > 0 ? undefined : Object.entries(ARCHITECTURES).find(([, known]) => known === name);
  if (found === undefined) refuse(`architectures = ${shown(architectures)} is not implemented`);
  else if (type !== null && found[0] !== type)
    refuse(`model_type = ${shown(type)} and architectures = ${shown(architectures)} disagree`);
}
