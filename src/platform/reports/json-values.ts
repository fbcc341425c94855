// Builds values of JSON text while it arrives, window by window, so that other work gets its turn in between: `JSON.parse` of a megabyte may take
// 90 ms. Only values at some paths are built. `__proto__` is no key of theirs.
import { createJsonScan, decodedText, type JsonScan, type JsonScanOptions } from './json-scan.ts'
import { ReportFault } from './report-fault.ts'

/** In a path: each item of a list. */
export const each = '[]'

export interface JsonValues extends JsonScan {
  /** Whether a path's first list was found, even if it is empty. */
  readonly sawList: boolean
}

export interface JsonPath {
  /** The keys that lead to the values; empty: the whole. */
  readonly path: readonly string[]
  /** `indexes`: the number of the document, then for each `each` of the path the number of the item, all from 0. */
  readonly onValue: (value: unknown, indexes: readonly number[]) => void
}

export interface JsonValuesOptions extends JsonScanOptions {
  /** No path is the beginning of another one. */
  readonly paths: readonly JsonPath[]
  /** Values within each of them that are built; further ones are left out. */
  readonly maxValues: number
}

const none: readonly JsonPath[] = []

/** Maximum number of characters that are kept of a key or string before its escapes are decoded. No caller needs more, even if all are escapes of six characters. */
const maxText = 512 * 1024

/** An object or list that is under way. */
interface Open {
  /** Undefined if it is not built. */
  readonly value: Record<string, unknown> | unknown[] | undefined
  /** The paths that lead through it. */
  readonly paths: readonly JsonPath[]
  /** The path that ends at it. */
  readonly ending: JsonPath | undefined
  key: string
  /** In a list on a path, the number of the item; otherwise undefined. */
  index: number | undefined
}

export function createJsonValues({ paths, maxValues, ...options }: JsonValuesOptions): JsonValues {
  const open: Open[] = []
  /** The key or string under way. */
  let held = ''
  let sawList = false
  let count = 0
  let document = -1

  /** The paths that lead to the value that comes next, or through it. */
  function pathsHere(): readonly JsonPath[] {
    const around = open.at(-1)
    if (around === undefined) return paths
    return around.paths.length === 0 ? none : around.paths.filter(({ path }) => path[open.length - 1] === around.key)
  }

  /** Counts the value that comes next, and adds it to what is around it. Answers whether it is built, and the path that ends at it. */
  function place(value: unknown): { readonly isBuilt: boolean; readonly ending?: JsonPath | undefined } {
    const around = open.at(-1)
    if (around === undefined) document += 1
    if (around?.index !== undefined) around.index += 1
    if (around?.value === undefined) {
      const ending = pathsHere().find(({ path }) => path.length === open.length)
      if (ending !== undefined) count = 0
      return { isBuilt: ending !== undefined, ending }
    }
    count += 1
    if (count > maxValues) return { isBuilt: false }
    if (Array.isArray(around.value)) around.value.push(value)
    else if (around.key !== '__proto__') around.value[around.key] = value
    return { isBuilt: true }
  }

  function found({ onValue }: JsonPath, value: unknown): void {
    onValue(value, [document, ...open.flatMap(({ index }) => index ?? [])])
  }

  function scalar(value: unknown): void {
    if (open.length === 0) throw new ReportFault('not_json', 'The report is not JSON.')
    const { ending } = place(value)
    if (ending !== undefined) found(ending, value)
  }

  const scan = createJsonScan(
    {
      open: isList => {
        const value = isList ? [] : {}
        const { isBuilt, ending } = place(value)
        const on = pathsHere().filter(
          ({ path }) => path.length > open.length && (path[open.length] === each) === isList,
        )
        if (on.some(({ path }) => path.indexOf(each) === open.length)) sawList = true
        const isCounted = isList && on.length > 0
        open.push({
          ...{ value: isBuilt ? value : undefined, paths: on, ending },
          ...{ key: isList ? each : '', index: isCounted ? -1 : undefined },
        })
        return isBuilt || on.length > 0
      },
      close: () => {
        const closed = open.pop()
        if (closed?.ending !== undefined) found(closed.ending, closed.value)
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
