/** `attribute=` of filters: dotted paths, in which whole numbers are indices. */
import { getElement } from "../compile/attributes.ts";
import { TemplateUnsupported } from "../failures.ts";
import { Tuple, typeName, Undefined, type Value } from "../values.ts";

/** A getter of the attribute; for None a getter of the element itself. */
export function lookup(attribute: Value, otherwise: Value = null): (item: Value) => Value {
  const path = pathOf(attribute);
  return (start) => {
    let item = start;
    for (const key of path) {
      item = getElement(item, key);
      if (item instanceof Undefined && otherwise !== null) item = otherwise;
    }
    return item;
  };
}

/** Getters of the attributes that commas separate, for sorting by several. */
export function lookupAll(attribute: Value): (item: Value) => Value[] {
  const getters = typeof attribute === "string" ? attribute.split(",").map((one) => lookup(one)) : [lookup(attribute)];
  return (item) => getters.map((get) => get(item));
}

function pathOf(attribute: Value): Value[] {
  if (attribute === null) return [];
  if (typeof attribute === "bigint") return [attribute];
  if (typeof attribute === "string") {
    return attribute.split(".").map((part) => (/^\d+$/.test(part) ? BigInt(part) : part));
  }
  throw new TemplateUnsupported(`an attribute that is a ${typeName(attribute)} is not implemented`);
}

/** Filters that sort and compare ignore the case of texts by default. */
export function ignoreCase(value: Value): Value {
  return typeof value === "string" ? value.toLowerCase() : value;
}

/** A group of `groupby`, which is a tuple with names. */
export function group(grouper: Value, list: readonly Value[]): Tuple {
  return new Tuple([grouper, list], ["grouper", "list"]);
}
