// Parses only those fields of a large body that a shape names, and passes over all else, whatever its size and depth, without memory. Values are as from
// `JSON.parse`; a list or object that the shape does not expect is null.
import { bytesOf, scanInTurns, windowBytes } from './body-windows.ts'
import { decodedText, type JsonSink } from '../json-scan.ts'
import { Items } from './wire-items.ts'
import { maxItems } from '../port.ts'
import { maxList, maxMessage } from '../wire-read.ts'
import type { Shape } from './wire-shape.ts'

/** Longer strings are cut, bytes. What remains is longer than any reader takes, even if each character is an escape of six bytes. */
const maxStringLength = 6 * (maxMessage + 2)
/** Longer keys are not read by anybody, bytes: this is the longest name with all letters escaped. */
const maxKeyLength = 6 * 64
/** Smaller items are parsed as a whole, which is quicker, bytes. */
const largeItem = 64 * 1024

/** Rejects with a ReportFault if the body is not JSON. */
export async function pickJson(
  body: Uint8Array,
  shape: Shape,
  sizes: { readonly window: number; readonly largeItem: number } = { window: windowBytes, largeItem },
): Promise<unknown> {
  const bytes = bytesOf(body)
  const picker = new Picker(bytes, shape)
  const addItems = async (): Promise<void> => {
    for (const { list, shape: ofItem, from, end } of picker.items.splice(0)) {
      if (end - from < sizes.largeItem) list.add(JSON.parse(bytes.toString('utf8', from, end)))
      else list.add(await pickJson(bytes.subarray(from, end), ofItem, sizes))
    }
  }
  await scanInTurns(bytes, picker, addItems, sizes.window)
  return picker.value
}

/** An item of a list that was passed over and is still to be parsed. */
interface Item {
  readonly list: Items
  readonly shape: Shape
  readonly from: number
  readonly end: number
}

/** A list or object that is being built. */
interface Open {
  readonly value: Record<string, unknown> | unknown[] | Items
  readonly shape: Shape
  /** The key of the value that comes next; undefined if nobody reads it. */
  key?: string | undefined
}

class Picker implements JsonSink {
  value: unknown
  readonly items: Item[] = []
  readonly #bytes: Buffer
  readonly #shape: Shape
  readonly #open: Open[] = []
  /** Where the list or object begins that is passed over. */
  #from: number | undefined

  constructor(bytes: Buffer, shape: Shape) {
    this.#bytes = bytes
    this.#shape = shape
  }

  open(isList: boolean, from: number): boolean {
    const begun = this.#begun(isList)
    if (begun === undefined) {
      this.#from = from
      return false
    }
    this.#put(begun.value)
    this.#open.push(begun)
    return true
  }

  close(end: number): void {
    if (this.#from === undefined) this.#open.pop()
    else {
      this.#end(this.#from, end, () => null)
      this.#from = undefined
    }
  }

  string(isKey: boolean, from: number, end: number): void {
    const around = this.#open.at(-1)
    if (!isKey) this.#end(from, end, () => this.#text(from, end))
    else if (around !== undefined) around.key = this.#key(from, end)
  }

  word(text: string, from: number): void {
    this.#end(from, from + text.length, () => JSON.parse(text))
  }

  /** The shape of the value that comes next; undefined if nobody reads it. */
  #next(): Shape | undefined {
    const around = this.#open.at(-1)
    if (around === undefined) return this.#shape
    const { value, shape, key = '' } = around
    if (Array.isArray(value)) return value.length < maxList ? 'scalar' : undefined
    return typeof shape === 'object' && 'fields' in shape ? shape.fields.get(key) : undefined
  }

  #begun(isList: boolean): Open | undefined {
    const shape = this.#next()
    if (isList && shape === 'texts') return { value: [], shape }
    if (typeof shape !== 'object' || isList !== 'items' in shape) return undefined
    return { value: 'items' in shape ? shape.begin() : {}, shape }
  }

  /** A value that was not built as it came ends here. */
  #end(from: number, end: number, read: () => unknown): void {
    const { value: list, shape } = this.#open.at(-1) ?? {}
    if (list instanceof Items && typeof shape === 'object' && 'items' in shape) {
      if (list.length < maxItems) this.items.push({ list, shape: shape.items, from, end })
      else list.add(undefined)
    } else if (this.#next() !== undefined) this.#put(read())
  }

  #put(value: unknown): void {
    const { value: around, key = '' } = this.#open.at(-1) ?? {}
    if (around === undefined) this.value = value
    else if (Array.isArray(around)) around.push(value)
    else if (!(around instanceof Items)) around[key] = value
  }

  #key(from: number, end: number): string | undefined {
    if (end - from > maxKeyLength) return undefined
    return decodedText(this.#bytes.toString('latin1', from + 1, end - 1))
  }

  /** Without its end if it is too long, but never cut within a character. */
  #text(from: number, end: number): string {
    let to = Math.min(end - 1, from + maxStringLength)
    while (((this.#bytes[to] ?? 0) & 0xc0) === 0x80) to += 1
    return decodedText(this.#bytes.toString('utf8', from + 1, to), to < end - 1)
  }
}
