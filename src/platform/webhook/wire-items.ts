// A list in a payload: an array, or a part of the bytes whose items are parsed one by one when they are read.
import type { Read } from '../wire-read.ts'

export interface WireItems extends Iterable<unknown> {
  readonly length: number
}

/** Items that stay bytes until they are read. */
export class ItemsInPlace implements WireItems {
  readonly length: number
  readonly #items: () => Iterator<unknown>

  constructor(length: number, items: () => Iterator<unknown>) {
    this.length = length
    this.#items = items
  }

  [Symbol.iterator](): Iterator<unknown> {
    return this.#items()
  }
}

export function isItems(value: unknown): value is WireItems {
  return Array.isArray(value) || value instanceof ItemsInPlace
}

export const readItems: Read<WireItems> = value => (isItems(value) ? value : undefined)
