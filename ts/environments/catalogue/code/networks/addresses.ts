/** Addresses of 32 bits and blocks of them. */

/** The addresses whose first `length` bits are those of `base`. */
export interface Block {
  base: number;
  length: number;
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join(".");
}

export function blockText({ base, length }: Block): string {
  return `${addressText(base)}/${length}`;
}

export function blockSize({ length }: Block): number {
  return 2 ** (32 - length);
}

/** The block of this length around an address. */
export function blockAround(address: number, length: number): Block {
  const size = 2 ** (32 - length);
  return { base: address - (address % size), length };
}

export function isInside(address: number, block: Block): boolean {
  return address >= block.base && address < block.base + blockSize(block);
}
