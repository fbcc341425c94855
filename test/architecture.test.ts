// The rooms and what each may import: the table of ARCHITECTURE.md, held against the code.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'

const source = path.join(import.meta.dirname, '..', 'src')

/** Room → rooms it may import. `types:` allows `import type` only; `ports:` what stands in the room's folder `ports`. */
const mayImport: Record<string, readonly string[]> = {
  lib: [],
  model: [],
  platform: ['model', 'lib'],
  ingress: ['platform', 'lib', 'ports:store'],
  processing: ['platform', 'model', 'lib', 'ports:store'],
  discovery: ['processing', 'platform', 'model', 'lib', 'ports:store'],
  enrichment: ['processing', 'platform', 'model', 'lib', 'ports:store'],
  telemetry: ['model', 'lib'],
  store: ['model', 'lib'],
  export: ['telemetry', 'model', 'lib', 'ports:store'],
  tokens: ['lib', 'ports:store'],
  web: ['lib', 'types:model'],
  pages: ['model', 'lib', 'ports:store'],
  'self-telemetry': [
    'lib',
    'types:discovery',
    'types:enrichment',
    'types:export',
    'types:ingress',
    'types:platform',
    'types:processing',
    'ports:store',
  ],
  config: ['lib'],
  terminal: ['model', 'lib'],
  demo: ['lib', 'telemetry', 'terminal'],
  cli: [
    'app',
    'config',
    'terminal',
    'demo',
    'discovery',
    'export',
    'lib',
    'model',
    'platform',
    'processing',
    'store',
    'telemetry',
    'tokens',
  ],
  app: [
    ...['config', 'discovery', 'enrichment', 'export', 'ingress', 'lib', 'model', 'pages', 'platform', 'processing'],
    ...['self-telemetry', 'store', 'telemetry', 'terminal', 'tokens', 'web'],
  ],
  main: ['cli', 'app'],
}

interface Import {
  readonly from: string
  readonly to: string
  readonly typeOnly: boolean
}

function sourceFiles(): string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
}

function importsOf(file: string): Import[] {
  const text = readFileSync(path.join(source, file), 'utf8')
  const found = text.matchAll(/^(import|export)\s+(type\s)?[^'"]*?from\s+'(\.[^']+)'|import\(\s*'(\.[^']+)'\s*\)/gm)
  return [...found].map(([, , type, target, dynamic]) => ({
    from: file,
    to: path.join(path.dirname(file), target ?? dynamic ?? ''),
    typeOnly: type !== undefined,
  }))
}

function roomOf(file: string): string {
  const [first = ''] = file.split(path.sep)
  // The composition root may take several files: `daemon.ts`, `export.ts`.
  return first.endsWith('.ts') ? first.replace(/(-.*)?\.ts$/, '') : first
}

const files = sourceFiles()
const imports = files.flatMap(importsOf)

describe('the architecture', () => {
  it('has a rule for every room', () => {
    expect([...new Set(files.map(roomOf))].sort()).toEqual(Object.keys(mayImport).sort())
  })

  it('lets every room import only what its row allows', () => {
    const breaches = imports
      .filter(({ from, to, typeOnly }) => {
        const [room, target] = [roomOf(from), roomOf(to)]
        if (room === target) return false
        const row = mayImport[room] ?? []
        const isPort = to.startsWith(path.join(target, 'ports', ''))
        return (
          !row.includes(target) &&
          !(typeOnly && row.includes(`types:${target}`)) &&
          !(isPort && row.includes(`ports:${target}`))
        )
      })
      .map(({ from, to }) => `${from} imports ${to}`)
    expect(breaches).toEqual([])
  })

  it('shows the table of texts by name to nobody but the repositories over it', () => {
    const seeing = imports.filter(({ to }) => to.startsWith(path.join('store', 'sql', 'key-value')))
    const files = ['postgres/key-value.ts', 'sql/repositories.ts', 'sqlite/key-value.ts']
    expect(seeing.map(({ from }) => from).sort()).toEqual(files.map(file => path.join('store', file)))
  })

  it('has no import cycles, types included', () => {
    const targets = new Map(files.map(file => [file, imports.filter(one => one.from === file).map(one => one.to)]))
    const done = new Set<string>()
    const cycles: string[] = []
    const walk = (file: string, trail: readonly string[]): void => {
      if (trail.includes(file)) {
        cycles.push([...trail.slice(trail.indexOf(file)), file].join(' → '))
        return
      }
      if (done.has(file)) return
      for (const next of targets.get(file) ?? []) walk(next, [...trail, file])
      done.add(file)
    }
    for (const file of files) walk(file, [])
    expect(cycles).toEqual([])
  })

  it('opens every file with a sentence on what it knows', () => {
    const silent = files.filter(file => {
      const [first = '', second = ''] = readFileSync(path.join(source, file), 'utf8').split('\n')
      return !(first.startsWith('#!') ? second : first).startsWith('// ')
    })
    expect(silent).toEqual([])
  })

  it('sets timers in two places, where none of them can end the process by what it throws', () => {
    // What the demo and a command set ends with them.
    const free = new Set([path.join('lib', 'timer.ts'), path.join('lib', 'clock.ts'), path.join('cli', 'demo.ts')])
    const setting = files.filter(
      file =>
        roomOf(file) !== 'demo' &&
        !free.has(file) &&
        /\b(setTimeout|setInterval)\(/.test(readFileSync(path.join(source, file), 'utf8')),
    )
    expect(setting).toEqual([])
  })

  it('names no file for a bucket', () => {
    const buckets = /(^|\/)(utils?|types|common|helpers?|misc|index)\.ts$/
    expect(files.filter(file => buckets.test(file))).toEqual([])
  })

  it('knows vendor words in one file of the product only', () => {
    // The simulated platform of the demo speaks as the vendor does; that is its subject.
    const speaking = new Set(['demo', path.join('cli', 'demo.ts')])
    const knowing = files.filter(
      file =>
        !speaking.has(roomOf(file)) &&
        !speaking.has(file) &&
        /gitlab/i.test(readFileSync(path.join(source, file), 'utf8').replace(/GitLab-like/g, '')),
    )
    expect(knowing).toEqual([path.join('platform', 'profile.ts')])
  })
})
