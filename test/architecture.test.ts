// Tests that each folder in src ("room") imports only what the table in ARCHITECTURE.md allows.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { features } from '../src/features.ts'

const source = path.join(import.meta.dirname, '..', 'src')

const page = readFileSync(path.join(source, '..', 'ARCHITECTURE.md'), 'utf8')

/**
 * For each folder in src ("room"), the folders that it may import. `types of` allows `import type` only, `ports of` allows files in the other
 * folder's `ports`, and `shape of daemon` is defined by `isShape`.
 */
const mayImport = new Map(
  [...page.matchAll(/^\| `([\w/-]+?)(?:\/|\.ts)` \| .* \| (.*) \|$/gm)].map(([, room = '', cell = '']) => [
    room,
    cell === '–' ? [] : cell.split(', '),
  ]),
)

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

/** Returns the folder of src ("room") to which a file belongs. Each folder in `core/` counts as a separate room. */
function roomOf(file: string): string {
  const [first = '', second = ''] = file.split(path.sep)
  return first === 'core' ? `${first}/${second}` : path.basename(first, '.ts')
}

/**
 * Returns true for files in `daemon/` that define what a feature consists of: the feature interface, the context that its parts receive, and the
 * types of options.
 */
function isShape(file: string): boolean {
  return /^daemon\/(feature|feature-commands|context|configuration\/(config-fault|option|kind|choice-options|[\w-]+-kinds))\.ts$/.test(
    file.replaceAll(path.sep, '/'),
  )
}

/**
 * Returns the name of the feature whose folder contains the file. Undefined if the file is in no feature's folder, or if `features.ts` does not list
 * the feature yet.
 */
function featureOf(file: string): string | undefined {
  const [room, name = ''] = file.split(path.sep)
  return room === 'features' && features.some(one => one.name === name) ? name : undefined
}

/**
 * Returns true if a feature imports its own folder in `platform/`. That folder contains the feature's requests to the platform and is deleted along
 * with the feature.
 */
function isOwnFolder(from: string, to: string): boolean {
  const name = featureOf(from)
  return name !== undefined && to.startsWith(path.join('platform', name) + path.sep)
}

const files = sourceFiles()
const imports = files.flatMap(importsOf)

describe('the architecture', () => {
  it('has an import rule for every folder', () => {
    expect([...new Set(files.map(roomOf))].sort()).toEqual([...mayImport.keys()].sort())
  })

  it('allows each folder only the imports that the import table lists for it', () => {
    const breaches = imports
      .filter(({ from, to, typeOnly }) => {
        const [room, target] = [roomOf(from), roomOf(to)]
        if (room === target) return false
        const row = mayImport.get(room) ?? []
        const isPort = to.startsWith(path.join(target, 'ports', ''))
        return (
          !row.includes(target) &&
          !(typeOnly && row.includes(`types of ${target}`)) &&
          !(isPort && row.includes(`ports of ${target}`)) &&
          !(isShape(to) && row.includes(`shape of ${target}`))
        )
      })
      .map(({ from, to }) => `${from} imports ${to}`)
    expect(breaches).toEqual([])
  })

  it('lets a feature be imported only by the features list, and by features that declare it in `needs` and import only its port', () => {
    const breaches = imports.filter(({ from, to }) => {
      const [importing, imported] = [featureOf(from), featureOf(to)]
      if (imported === undefined || importing === imported || from === 'features.ts') return false
      const needs = features.find(({ name }) => name === importing)?.needs ?? []
      return !(needs.includes(imported) && path.basename(to) === 'port.ts')
    })
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
  })

  it('keeps every listed feature in the folder of the same name', () => {
    for (const { name, needs = [] } of features) {
      expect(files).toContain(path.join('features', name, 'feature.ts'))
      for (const needed of needs) expect(features.map(one => one.name)).toContain(needed)
    }
  })

  it("allows only the daemon and commands/platform.ts to import platform files outside the port and the importing feature's folder", () => {
    const isPort = (file: string): boolean => /^platform\/port(\.ts$|\/)/.test(file.replaceAll(path.sep, '/'))
    const mayImportAll = (file: string): boolean =>
      ['platform', 'daemon'].includes(roomOf(file)) || file === path.join('commands', 'platform.ts')
    const breaches = imports.filter(
      ({ from, to }) => roomOf(to) === 'platform' && !isPort(to) && !mayImportAll(from) && !isOwnFolder(from, to),
    )
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
    const loaded = imports.filter(({ from, to, typeOnly }) => isPort(from) && !typeOnly && !isPort(to))
    expect(loaded.map(({ to }) => to)).toEqual([path.join('lib', 'fault.ts')])
  })

  it('allows a platform folder named after a feature to be imported only by that feature', () => {
    const breaches = imports.filter(({ from, to }) => {
      const [, name = ''] = to.split(path.sep)
      const isOfFeature = roomOf(to) === 'platform' && features.some(one => one.name === name)
      return isOfFeature && !isOwnFolder(from, to) && path.dirname(from) !== path.dirname(to)
    })
    expect(breaches.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
  })

  it("allows the SQL repositories to be imported only by the store's operations and by features", () => {
    const importing = imports.filter(({ to }) => to.startsWith(path.join('core', 'store', 'sql', 'repositories')))
    const rest = importing.map(({ from }) => from).filter(from => featureOf(from) === undefined)
    expect(rest).toEqual([path.join('core', 'store', 'sql', 'operations.ts')])
  })

  it('documents the architecture in ARCHITECTURE.md, which names only existing files', () => {
    const named = [...page.matchAll(/`((?:[\w-]+\/)+[\w.-]+\.ts)`/g)].map(([, file = '']) => file)
    expect(named.length).toBeGreaterThan(30)
    const roots = [source, path.join(source, '..')]
    // ARCHITECTURE.md may still name files of a feature whose folder was deleted.
    const isDeleted = (file: string): boolean => {
      const [folder] = /^features\/[\w-]+/.exec(file) ?? []
      return folder !== undefined && !existsSync(path.join(source, folder))
    }
    const missing = named.filter(file => !roots.some(root => existsSync(path.join(root, file))))
    expect(missing.filter(file => !isDeleted(file))).toEqual([])
  })

  it('has no import cycles, including type imports', () => {
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

  it('begins every file with a comment about its purpose', () => {
    const uncommented = files.filter(file => {
      const [first = '', second = ''] = readFileSync(path.join(source, file), 'utf8').split('\n')
      return !(first.startsWith('#!') ? second : first).startsWith('// ')
    })
    expect(uncommented).toEqual([])
  })

  it('sets timers only in two files, which catch errors in callbacks so that they cannot crash the process', () => {
    // The simulator and the demo may set timers too, because their timers end with the program.
    const exempt = new Set([
      path.join('lib', 'timer.ts'),
      path.join('lib', 'clock.ts'),
      path.join('commands', 'demo.ts'),
    ])
    const settingTimers = files.filter(
      file =>
        roomOf(file) !== 'simulator' &&
        !exempt.has(file) &&
        /\b(setTimeout|setInterval)\(/.test(readFileSync(path.join(source, file), 'utf8')),
    )
    expect(settingTimers).toEqual([])
  })

  it('has no file named utils, types, common or helpers', () => {
    const vagueName = /(^|\/)(utils?|types|common|helpers?|misc|index)\.ts$/
    expect(files.filter(file => vagueName.test(file))).toEqual([])
  })

  it('names the vendor only in the vendor table, and in the table of the exporter that is named after the vendor', () => {
    // The demo's simulated platform must use the vendor's names.
    const exempt = new Set(['simulator', path.join('commands', 'demo-settings.ts')])
    const naming = files.filter(
      file =>
        !exempt.has(roomOf(file)) &&
        !exempt.has(file) &&
        /gitlab/i.test(readFileSync(path.join(source, file), 'utf8').replace(/GitLab-like/g, '')),
    )
    const tables = [path.join('features', 'gcpe', 'table.ts'), path.join('platform', 'vendor.ts')]
    expect(naming.toSorted()).toEqual(tables.filter(file => files.includes(file)))
  })

  it("compares platform statuses only in one file and in the platform's folder", () => {
    const exempt = new Set(['platform', 'simulator'])
    const comparing = files.filter(
      file =>
        !exempt.has(roomOf(file)) &&
        !file.startsWith(path.join('commands', 'terminal', path.sep)) &&
        /\bstatus [!=]== '(success|failed|canceled|skipped|manual|scheduled)'/.test(
          readFileSync(path.join(source, file), 'utf8'),
        ),
    )
    expect(comparing).toEqual([path.join('model', 'status.ts')])
  })
})
