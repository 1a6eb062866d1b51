/** Begins the message about a key that is not there. */
export const VLLM_KEY = "the key of the vLLM servers";
