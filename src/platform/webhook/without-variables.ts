// Removes pipeline variables, which may be secrets, from a delivery that could not be decoded, so that it can be stored.
import { bytesOf, scanInTurns } from './body-windows.ts'
import { decodedText, type JsonSink } from '../json-scan.ts'
import { ReportFault } from '../reports/report-fault.ts'

/** Bytes that are kept of a body that is not JSON. */
export const keptOfText = 4_096

/** The key `variables` with all letters escaped; longer keys are others. */
const maxKeyLength = 6 * 'variables'.length + 2

/**
 * The body without fields named `variables`, at any depth; all else stays byte for byte. A body that is not JSON is cut to its first 4 KiB, and
 * before the word `variables`; with `onlyBeginning` every body is. Needs as much memory as the body.
 */
export async function withoutVariables(body: Uint8Array, onlyBeginning = false): Promise<Uint8Array> {
  if (onlyBeginning) return beginningOf(body)
  const bytes = bytesOf(body)
  const cuts = new Cuts(bytes)
  try {
    await scanInTurns(bytes, cuts)
    return cuts.rest()
  } catch (error) {
    if (error instanceof ReportFault) return beginningOf(body)
    throw error
  }
}

/** The first 4 KiB, cut before the word `variables`. */
function beginningOf(body: Uint8Array): Uint8Array {
  const beginning = body.subarray(0, keptOfText)
  const variables = Buffer.from(beginning).indexOf('variables')
  return variables === -1 ? beginning : beginning.subarray(0, variables)
}

/** Copies what remains, from the first removed field on. */
class Cuts implements JsonSink {
  readonly #bytes: Buffer
  #copied: Buffer | undefined
  #length = 0
  /** Where the part begins that is not copied yet. */
  #from = 0
  /** Where the field begins that is being removed. */
  #cutFrom: number | undefined
  /** The last comma of the object that is open; undefined before its first field ends. */
  #comma: number | undefined
  /** True after a removed field that was the first of its object, apart from other removed ones. */
  #isLeading = false

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  open(): boolean {
    this.#comma = undefined
    return this.#cutFrom === undefined
  }

  close(end: number): void {
    if (this.#cutFrom === undefined) this.#isLeading = false
    else this.#endValue(end)
  }

  string(isKey: boolean, from: number, end: number): void {
    if (isKey) this.#beginField(from, end)
    else this.#endValue(end)
  }

  word(text: string, from: number): void {
    this.#endValue(from + text.length)
  }

  comma(at: number): void {
    this.#comma = at
  }

  #beginField(from: number, end: number): void {
    const comma = this.#comma
    const isLeading = comma === undefined || this.#isLeading
    const isRemoved =
      end - from <= maxKeyLength && decodedText(this.#bytes.toString('latin1', from + 1, end - 1)) === 'variables'
    this.#isLeading = isLeading && isRemoved
    if (isRemoved) this.#cutFrom = comma ?? from
    // All fields before it were removed, so its comma must go too.
    else if (isLeading && comma !== undefined) this.#from = from
  }

  #endValue(end: number): void {
    if (this.#cutFrom === undefined) return
    this.#copied ??= Buffer.allocUnsafeSlow(this.#bytes.length)
    this.#copyUpTo(this.#copied, this.#cutFrom)
    this.#from = end
    this.#cutFrom = undefined
  }

  /** All that remains, once the last value has ended. */
  rest(): Uint8Array {
    if (this.#copied === undefined) return this.#bytes.subarray(this.#from)
    this.#copyUpTo(this.#copied, this.#bytes.length)
    return this.#copied.subarray(0, this.#length)
  }

  #copyUpTo(copied: Buffer, to: number): void {
    if (to > this.#from) this.#length += this.#bytes.copy(copied, this.#length, this.#from, to)
  }
}
