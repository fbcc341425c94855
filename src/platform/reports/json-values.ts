// Builds values of JSON text while it arrives, window by window, so that other work gets its turn in between: `JSON.parse` of a megabyte may take
// 90 ms. Only values at one path are built. `__proto__` is no key of theirs.
import { createJsonScan, decodedText, type JsonScan, type JsonScanOptions } from '../json-scan.ts'
import { ReportFault } from './report-fault.ts'

/** In a path: each item of a list. */
export const each = '[]'

export interface JsonValues extends JsonScan {
  /** Whether the path's first list was found, even if it is empty. */
  readonly sawList: boolean
}

export interface JsonValuesOptions extends JsonScanOptions {
  /** The keys that lead to the values; empty: the whole. */
  readonly path: readonly string[]
  readonly onValue: (value: unknown) => void
  /** Values within each of them that are built; further ones are left out. */
  readonly maxValues: number
}

/** Maximum number of characters that are kept of a key or string before its escapes are decoded. No caller needs more, even if all are escapes of six characters. */
const maxText = 512 * 1024

/** An object or list that is under way. */
interface Open {
  /** Undefined if it is not built. */
  readonly value: Record<string, unknown> | unknown[] | undefined
  readonly isOnPath: boolean
  key: string
}

export function createJsonValues({ path, onValue, maxValues, ...options }: JsonValuesOptions): JsonValues {
  const open: Open[] = []
  /** The key or string under way. */
  let held = ''
  let sawList = false
  let count = 0

  /** Whether the value that comes next is on the path, or at its end. */
  function isOnPath(): boolean {
    const around = open.at(-1)
    return around === undefined || (around.isOnPath && around.key === path[open.length - 1])
  }

  /** Adds a value to what is around it; false if it is not built. */
  function place(value: unknown): boolean {
    const around = open.at(-1)?.value
    if (around === undefined) {
      const isBegun = open.length === path.length && isOnPath()
      if (isBegun) count = 0
      return isBegun
    }
    count += 1
    if (count > maxValues) return false
    const key = open.at(-1)?.key ?? ''
    if (Array.isArray(around)) around.push(value)
    else if (key !== '__proto__') around[key] = value
    return true
  }

  function scalar(value: unknown): void {
    if (open.length === 0) throw new ReportFault('not_json', 'The report is not JSON.')
    if (place(value) && open.length === path.length) onValue(value)
  }

  const scan = createJsonScan(
    {
      open: isList => {
        const value = isList ? [] : {}
        const isBuilt = place(value)
        const isOn = isOnPath() && (path[open.length] === each) === isList
        if (isOn && open.length === path.indexOf(each)) sawList = true
        open.push({ value: isBuilt ? value : undefined, isOnPath: isOn, key: isList ? each : '' })
        return isBuilt || isOn
      },
      close: () => {
        const { value } = open.pop() ?? {}
        if (value !== undefined && open.length === path.length) onValue(value)
      },
      part: (window, from, to) => {
        if (held.length < maxText) held += window.slice(from, to)
      },
      string: isKey => {
        const text = decodedText(held, held.length >= maxText)
          .slice(0, maxText)
          .toWellFormed()
        held = ''
        const around = open.at(-1)
        if (isKey && around !== undefined) around.key = text
        else scalar(text)
      },
      word: text => scalar(JSON.parse(text)),
    },
    options,
  )
  return {
    ...scan,
    get sawList() {
      return sawList
    },
  }
}
