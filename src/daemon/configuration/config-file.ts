// Reads the YAML configuration file: its values with their positions, and faults of the file itself. This code knows nothing about individual
// settings.
import { readFileSync, statSync } from 'node:fs'
import { isMap, isScalar, isSeq, LineCounter, parseDocument, visit, type Document, type Node } from 'yaml'
import { reasonOf } from '../../lib/fault.ts'
import { quoted, type ConfigFault, type Source, type Wrong } from './config-fault.ts'

/** The maximum size of a configuration file, bytes. It is larger than any sensible configuration, and keeps a wrong path from filling up memory. */
const maxFileBytes = 1024 * 1024

/** Returns the text of the file, or the reason why it cannot be read. */
export function readConfigText(path: string): string | Wrong {
  const remedy = 'Use a YAML file that this process can read.'
  try {
    const stats = statSync(path)
    if (stats.isFile() && stats.size <= maxFileBytes) return readFileSync(path, 'utf8')
    return { what: `The configuration file ${quoted(path)} is not a regular file, or is larger than 1 MiB.`, remedy }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    return { what: `The configuration file ${quoted(path)} cannot be read (${code}).`, remedy }
  }
}

/** A value and its position in the file. All scalars are strings, exactly as the operator wrote them, including `0123` and `yes`. */
export class FileValue {
  readonly source: Source
  readonly #node: Node | null
  readonly #placeOf: (node: Node | null) => Source
  readonly #document: Document

  constructor(node: Node | null, placeOf: (node: Node | null) => Source, document: Document) {
    this.source = placeOf(node)
    this.#node = node
    this.#placeOf = placeOf
    this.#document = document
  }

  /** Whether the value is missing, `null`, or an empty string. */
  get isBlank(): boolean {
    const node = this.#node
    if (!isScalar(node)) return node === null
    return (
      /^\s*$/.test(String(node.value)) || (node.type === 'PLAIN' && /^(?:~|null|Null|NULL)$/.test(String(node.value)))
    )
  }

  /** Whether the value is blank or is a mapping in which no entry has a value. */
  get isEmpty(): boolean {
    return (
      this.isBlank || (this.entries !== undefined && [...this.entries.values()].every(({ value }) => value.isEmpty))
    )
  }

  /** The entries of a mapping; undefined if the value is not a mapping. */
  get entries(): ReadonlyMap<string, { readonly key: Source; readonly value: FileValue }> | undefined {
    if (!isMap<Node, Node | null>(this.#node)) return undefined
    return new Map(
      this.#node.items.map(({ key, value }) => [String(key), { key: this.#placeOf(key), value: this.#at(value) }]),
    )
  }

  /** The items of a list; undefined if the value is not a list. */
  get items(): FileValue[] | undefined {
    return isSeq<Node | null>(this.#node) ? this.#node.items.map(item => this.#at(item)) : undefined
  }

  /** The plain value: a string, or lists and mappings of strings. */
  get raw(): unknown {
    return this.#node?.toJS(this.#document) as unknown
  }

  #at(node: Node | null): FileValue {
    return new FileValue(node, this.#placeOf, this.#document)
  }
}

const quoteRemedy = `Correct the YAML; a value that starts with one of [ { * & ! | > ' " % @ needs quotes around it.`

const aliasFault = {
  what: 'YAML aliases are not supported.',
  remedy: 'Write the value out; a value that starts with * needs quotes.',
}

/** Messages for common mistakes, in plainer words than the YAML parser's own. */
const plainer: Readonly<Record<string, Wrong>> = {
  DUPLICATE_KEY: { what: 'The key is given twice.', remedy: 'Keep one of the two.' },
  TAB_AS_INDENT: { what: 'This line is indented with a tab.', remedy: 'Indent with spaces.' },
  MULTIPLE_DOCS: { what: 'A second document starts here.', remedy: 'Write only one document, without --- separators.' },
  RESOURCE_EXHAUSTION: {
    what: 'The file is nested too deeply.',
    remedy: 'No setting needs this depth: simplify the file.',
  },
  BAD_ALIAS: aliasFault,
  TAG_RESOLVE_FAILED: {
    what: 'YAML tags are not supported.',
    remedy: 'Write the value without a tag; a value that starts with ! needs quotes.',
  },
}

/** Parses YAML 1.2. Returns the mapping at its root or, if the file has errors or no settings, the errors. `file` is the file name in messages. */
export function parseConfigFile(text: string, file: string): { root?: FileValue; faults: readonly ConfigFault[] } {
  const lines = new LineCounter()
  const placeAt = (offset: number): Source => {
    const { line, col } = lines.linePos(offset)
    return { from: 'file', file, line: Math.max(1, line), column: Math.max(1, col) }
  }
  try {
    const document = parseDocument<Node>(text, { lineCounter: lines, prettyErrors: false, schema: 'failsafe' })
    const found = [...document.errors, ...document.warnings]
    // If a file is nested too deeply for the YAML parser's stack, the parser may report this at two positions. Only the first becomes a fault.
    const deepest = found.find(({ code }) => code === 'RESOURCE_EXHAUSTION')
    const faults = found
      .filter(({ code }, at) => code !== deepest?.code || found.indexOf(deepest) === at)
      .map(({ code, message, pos }): ConfigFault => {
        return { source: placeAt(pos[0]), ...(plainer[code] ?? { what: `${message}.`, remedy: quoteRemedy }) }
      })
    const placeOf = (node: Node | null): Source => placeAt(node?.range?.[0] ?? 0)
    visit(document, { Alias: (_, node) => void faults.push({ source: placeOf(node), ...aliasFault }) })
    if (faults.length > 0) return { faults }
    const root = new FileValue(document.contents, placeOf, document)
    // A configuration file is briefly empty while it is being written. Without any settings, the daemon would be open to everyone, so an empty file
    // is a fault.
    if (root.isEmpty) {
      const remedy = 'Write at least one setting, or start without a configuration file.'
      return { faults: [{ source: placeAt(0), what: 'The file has no settings.', remedy }] }
    }
    if (root.entries !== undefined) return { root, faults }
    const remedy = 'Write "key: value" lines, such as "settle: 5s".'
    return { faults: [{ source: root.source, what: 'The file is not a mapping of settings.', remedy }] }
  } catch (error) {
    const what = `The file is not YAML (${reasonOf(error)}).`
    return { faults: [{ source: placeAt(0), what, remedy: 'Correct the YAML.' }] }
  }
}
