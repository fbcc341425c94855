// Builds values of JSON text while it arrives, window by window, so that other work gets its turn in between: `JSON.parse` of a megabyte may take
// 90 ms. Only values at one path are built. `__proto__` is no key of theirs.
import { createJsonTokens, type JsonTokens } from './json-tokens.ts'
import { ReportFault } from './report-fault.ts'

/** In a path: each item of a list. */
export const each = '[]'

export interface JsonValues extends JsonTokens {
  /** Whether the path's first list was found, even if it is empty. */
  readonly sawList: boolean
}

export interface JsonValuesOptions {
  /** The keys that lead to the values; empty: the whole. */
  readonly path: readonly string[]
  readonly onValue: (value: unknown) => void
  /** Objects and lists within each other. */
  readonly maxDepth: number
  /** Values within each of them that are built; further ones are left out. */
  readonly maxValues: number
}

/** An object or list that is under way. */
interface Open {
  /** Undefined if it is not built. */
  readonly value: Record<string, unknown> | unknown[] | undefined
  readonly isOnPath: boolean
  key: string
}

export function createJsonValues({ path, onValue, maxDepth, maxValues }: JsonValuesOptions): JsonValues {
  const open: Open[] = []
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
    if (place(value) && open.length === path.length) onValue(value)
  }

  const tokens = createJsonTokens(
    {
      open: kind => {
        const isList = kind === 'list'
        const value = isList ? [] : {}
        const isBuilt = place(value)
        const isOn = isOnPath() && (path[open.length] === each) === isList
        if (isOn && open.length === path.indexOf(each)) sawList = true
        open.push({ value: isBuilt ? value : undefined, isOnPath: isOn, key: isList ? each : '' })
      },
      close: () => {
        const { value } = open.pop() ?? {}
        if (value !== undefined && open.length === path.length) onValue(value)
      },
      key: key => {
        const around = open.at(-1)
        if (around !== undefined) around.key = key
      },
      text: scalar,
      word: text => scalar(valueOf(text)),
    },
    maxDepth,
  )
  return {
    ...tokens,
    get sawList() {
      return sawList
    },
  }
}

function valueOf(word: string): unknown {
  try {
    return JSON.parse(word)
  } catch {
    throw new ReportFault('malformed', 'The report is no JSON.')
  }
}
