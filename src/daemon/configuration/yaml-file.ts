// Parses a YAML file into a tree of texts with their positions, and reports what is wrong with it as YAML. Knows no settings.
import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type ParsedNode } from 'yaml'
import { reasonOf } from '../../lib/fault.ts'
import type { ConfigFault, Source } from './config-fault.ts'

/** A value as it was written: `0123` and `yes` stay texts. Blank: nothing, `null` or an empty text. */
export type FileValue =
  | { readonly is: 'blank'; readonly source: Source }
  | { readonly is: 'text'; readonly source: Source; readonly text: string }
  | { readonly is: 'list'; readonly source: Source; readonly items: readonly FileValue[] }
  | FileMap

export interface FileMap {
  readonly is: 'map'
  readonly source: Source
  readonly entries: ReadonlyMap<string, { readonly key: Source; readonly value: FileValue }>
}

interface FileContent {
  /** Absent if the file is empty, or too broken to be understood. */
  readonly root?: FileMap
  readonly faults: readonly ConfigFault[]
}

const quoteRemedy = `Correct the YAML; a value that starts with one of [ { * & ! | > ' " % @ needs quotes around it.`

const aliasFault = {
  what: 'YAML aliases are not supported.',
  remedy: 'Write the value out; a text that starts with * needs quotes.',
}

/** Plainer messages than the YAML parser's for common mistakes. */
const plainer: Readonly<Record<string, { what: string; remedy: string }>> = {
  DUPLICATE_KEY: { what: 'The key is given twice.', remedy: 'Keep one of the two.' },
  TAB_AS_INDENT: { what: 'A tab indents this line.', remedy: 'Indent with spaces.' },
  MULTIPLE_DOCS: { what: 'A second document starts here.', remedy: 'Keep one document, without --- inside.' },
  RESOURCE_EXHAUSTION: {
    what: 'The file is nested too deeply.',
    remedy: 'No setting needs this depth: simplify the file.',
  },
  BAD_ALIAS: aliasFault,
  TAG_RESOLVE_FAILED: {
    what: 'YAML tags are not supported.',
    remedy: 'Write the value alone; a text that starts with ! needs quotes.',
  },
}

/** Parses YAML 1.2. `file`: its name in messages. */
export function parseYamlFile(text: string, file: string): FileContent {
  const faults: ConfigFault[] = []
  const lines = new LineCounter()
  const placeOf = (offset: number): Source => {
    const { line, col } = lines.linePos(offset)
    return { from: 'file', file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  try {
    const document = parseDocument(text, { lineCounter: lines, prettyErrors: false })
    const found = [...document.errors, ...document.warnings]
    // The parser stops where its stack ends, and may report two places for it.
    const deepest = found.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
    for (const one of found) {
      const { code, message, pos } = one
      if (code === deepest?.code && one !== deepest) continue
      faults.push({ source: placeOf(pos[0]), ...(plainer[code] ?? { what: `${message}.`, remedy: quoteRemedy }) })
    }
    const isNamed = document.errors.every(({ code }) => code === 'DUPLICATE_KEY')
    const tree = isNamed ? treeOf(document, placeOf, faults) : undefined
    return { faults, ...(tree === undefined ? {} : { root: tree }) }
  } catch (error) {
    faults.push({ source: placeOf(0), what: `The file is not YAML (${reasonOf(error)}).`, remedy: 'Correct the YAML.' })
    return { faults }
  }
}

function treeOf(
  document: Document.Parsed,
  placeOf: (offset: number) => Source,
  faults: ConfigFault[],
): FileMap | undefined {
  const root = convert(document.contents)
  if (root.is === 'map') return root
  if (root.is === 'blank') return undefined
  faults.push({
    source: root.source,
    what: 'The file has no mapping of settings.',
    remedy: 'Write "key: value" lines, such as "settle: 5s".',
  })
  return undefined

  function convert(node: ParsedNode | null): FileValue {
    const source = placeOf(node?.range[0] ?? 0)
    if (node === null) return { is: 'blank', source }
    if (isAlias(node)) {
      faults.push({ source, ...aliasFault })
      return { is: 'blank', source }
    }
    if (isScalar(node)) {
      const written = typeof node.value === 'string' ? node.value : node.value === null ? '' : node.source
      return written.trim() === '' ? { is: 'blank', source } : { is: 'text', source, text: written }
    }
    if (isSeq(node)) return { is: 'list', source, items: node.items.map(item => convert(item)) }
    if (!isMap(node)) return { is: 'blank', source }
    const entries = node.items.map(({ key, value }) => {
      const name = isScalar(key) ? String(key.value) : String(key)
      return [name, { key: placeOf(key.range[0]), value: convert(value) }] as const
    })
    return { is: 'map', source, entries: new Map(entries) }
  }
}

/** Whether it has no value at all, as `{}`, or `webhook:` alone. */
export function isBlank(value: FileValue): boolean {
  return (
    value.is === 'blank' || (value.is === 'map' && [...value.entries.values()].every(entry => isBlank(entry.value)))
  )
}
