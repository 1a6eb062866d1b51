/**
 * The addon (`PRL_OBSERVED_ADDON`), every promise of which passes through `globalThis.observeNative`, where that is set: a simulation in virtual time has to
 * know when native threads are at work.
 */
const { createRequire } = require("node:module");

const addon = createRequire(__filename)(process.env.PRL_OBSERVED_ADDON);

function observed(call) {
  return function (...args) {
    const result = new.target === undefined ? call.apply(this, args) : Reflect.construct(call, args, new.target);
    return result instanceof Promise && globalThis.observeNative !== undefined
      ? globalThis.observeNative(result)
      : result;
  };
}

for (const [name, value] of Object.entries(addon)) {
  if (typeof value !== "function") {
    exports[name] = value;
    continue;
  }
  const methods = Object.getOwnPropertyNames(value.prototype ?? {}).filter((method) => method !== "constructor");
  if (methods.length === 0 && /^[a-z]/u.test(name)) {
    exports[name] = observed(value);
    continue;
  }
  for (const owner of [value, value.prototype]) {
    for (const [method, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(owner))) {
      if (method === "constructor" || typeof descriptor.value !== "function" || !descriptor.writable) continue;
      Object.defineProperty(owner, method, { ...descriptor, value: observed(descriptor.value) });
    }
  }
  exports[name] = value;
}
