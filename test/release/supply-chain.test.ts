// Tests the product's supply chain: the origin of its packages, the scripts that they may run during installation, and known vulnerabilities in the
// packages that ship.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, cpSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { rolldown } from 'rolldown'
import { describe, expect, it } from 'vitest'
import { listen } from '../support/after-test.ts'
import { emptyFolder, repository, run } from './install.ts'
import { isFull } from '../full.ts'
// @ts-expect-error It is JavaScript, so that it runs where nothing is installed.
import { faultsOf as untyped } from '../../scripts/check-lockfile.js'

type Entry = Record<string, unknown>
interface Lock {
  readonly lockfileVersion: number
  readonly packages: Record<string, Entry>
}
interface Manifest extends Entry {
  readonly devDependencies: Record<string, string>
}
const faultsOf = untyped as (lock: Lock, manifest: Manifest) => readonly string[]
const read = (name: string): unknown => JSON.parse(readFileSync(path.join(repository, name), 'utf8'))
const lock = read('package-lock.json') as Lock
const manifest = read('package.json') as Manifest
const bill = (): { components: { purl: string; name: string; version: string; hashes?: unknown[] }[] } =>
  read('dist/sbom.cdx.json') as never

describe('the lock file', () => {
  it("accepts the product's lock file", () => {
    expect(faultsOf(lock, manifest)).toEqual([])
  })

  const place = 'node_modules/zod'
  it.each<[string, Entry | undefined, RegExp]>([
    ['from a repository', { resolved: 'git+ssh://git@github.com/colinhacks/zod.git#abc' }, /comes from git/],
    ['from another host', { resolved: 'https://mirror.example/zod/-/zod-4.6.7.tgz' }, /comes from https:\/\/mirror/],
    ['from a host that only begins like it', { resolved: 'https://registry.npmjs.org.example/zod.tgz' }, /comes from/],
    ['without a checksum', { integrity: undefined }, /no SHA-512/],
    ['with a weak checksum', { integrity: 'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=' }, /no SHA-512/],
    ['that runs a script', { hasInstallScript: true }, /runs a script/],
    [
      'that links to a place outside the repository',
      { link: true, resolved: '../zod' },
      /is a link to a place outside this repository/,
    ],
  ])('rejects a lock file that contains a package %s', (_, change, description) => {
    const packages = { ...lock.packages, [place]: { ...lock.packages[place], ...change } }
    expect(faultsOf({ ...lock, packages }, manifest)).toEqual([expect.stringMatching(description)])
  })

  it.each(['^4.6.7', 'latest', 'github:colinhacks/zod', 'file:../zod', 'npm:other@1.0.0'])(
    'rejects a lock file if package.json requests the version %s instead of an exact one',
    wish => {
      const devDependencies = { ...manifest.devDependencies, zod: wish }
      const packages = { ...lock.packages, '': { ...lock.packages[''], devDependencies } }
      const [fault, ...others] = faultsOf({ ...lock, packages }, { ...manifest, devDependencies })
      expect([fault, others]).toEqual([expect.stringContaining('specify an exact version'), []])
    },
  )

  it('rejects a lock file that differs from package.json', () => {
    const devDependencies = { ...manifest.devDependencies, zod: '1.0.0' }
    expect(faultsOf(lock, { ...manifest, devDependencies })).toEqual([expect.stringContaining('differ')])
  })
})

describe('a production install', () => {
  it.runIf(isFull)(
    'installs no package and therefore runs no script, because all code that ships is in the bundle',
    () => {
      const production = Object.entries(lock.packages).filter(([place, { dev, link }]) => place !== '' && !dev && !link)
      expect(production).toEqual([])
      using folder = emptyFolder()
      const copy = path.join(folder.path, 'pipespan')
      mkdirSync(copy)
      for (const name of ['package.json', 'package-lock.json', 'scripts', 'dist', 'config']) {
        cpSync(path.join(repository, name), path.join(copy, name), { recursive: true })
      }
      run(copy, 'npm', 'ci', '--omit=dev', '--no-audit', '--no-fund', '--loglevel=error')
      expect(existsSync(path.join(copy, 'node_modules', 'protobufjs'))).toBe(false)
      expect(run(copy, process.execPath, 'dist/main.js', '--version')).toBe(`${String(manifest.version)}\n`)
    },
  )
})

describe('the bill of materials', () => {
  it('lists every package that the sources import', () => {
    const folder = path.join(repository, 'src')
    const texts = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => readFileSync(path.join(folder, file), 'utf8'))
    const imports = texts.flatMap(text => [
      ...text.matchAll(/^(?:import|export) (?!type )[^'";]*?from '((?:@[\w.-]+\/)?[a-z][\w.-]*)[^':]*'$/gm),
    ])
    const packages = new Set(imports.map(([, name = '']) => name))
    expect(packages.size).toBeGreaterThan(10)
    const names = new Set(bill().components.map(({ name }) => name))
    expect([...packages].filter(name => !names.has(name))).toEqual([])
  })

  it.runIf(isFull)('lists every package whose code is in the bundle, and no other package', async () => {
    const packages = new Set((await bundledFiles()).flatMap(file => packageOf(file) ?? []))
    expect(packages.size).toBeGreaterThan(50)
    expect(bill().components.map(({ name, version }) => `${name} ${version}`)).toEqual([...packages].sort())
  })

  it('contains no second HTTP framework, because only the server half of the MCP SDK is shipped', () => {
    const names = bill().components.map(({ name }) => name)
    expect(names).toContain('@modelcontextprotocol/sdk')
    for (const other of ['express', 'hono', '@hono/node-server', 'jose', 'eventsource', 'cross-spawn'])
      expect(names).not.toContain(other)
  })

  it("has the lock file's checksum for each package, none of which runs an install script", () => {
    const { components } = bill()
    expect(components.filter(({ hashes }) => hashes?.length !== 1)).toEqual([])
    const names = new Set(components.map(({ name }) => name))
    const scripted = Object.entries(lock.packages).filter(([, { hasInstallScript }]) => hasInstallScript === true)
    expect(scripted.map(([place]) => place.replace(/^.*node_modules\//, '')).filter(name => names.has(name))).toEqual(
      [],
    )
    expect([...names].filter(name => name.startsWith('@grpc'))).toEqual([])
  })
})

/** Bundles the program again. Returns the files whose code is in the bundle. */
async function bundledFiles(): Promise<string[]> {
  const bundle = await rolldown({
    cwd: repository,
    input: path.join(repository, 'src', 'main.ts'),
    platform: 'node',
    external: [
      /^node:/,
      ...['pg-native', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request'],
    ],
    resolve: { alias: { '@grpc/grpc-js': path.join(repository, 'scripts/no-grpc.cjs') } },
    transform: { target: 'node22.19' },
    logLevel: 'silent',
  })
  const { output } = await bundle.generate({ dir: path.join(repository, 'dist') })
  return output.flatMap(part => (part.type === 'chunk' ? Object.keys(part.modules) : []))
}

function packageOf(source: string): string | undefined {
  const [, place] = /(node_modules\/.*)$/.exec(source) ?? []
  const folder = place && /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(place)?.[1]
  if (folder === undefined) return undefined
  const { name, version } = read(`${folder}/package.json`) as { name: string; version: string }
  return `${name} ${version}`
}

describe('the package audit', () => {
  it('reports clearly that nothing was audited when the registry does not respond', async () => {
    expect(await audited(404, { error: 'not here' })).toMatchObject({ code: 3, stderr: /NOT AUDITED/ })
  })

  it('fails for a critical vulnerability in a package that ships', async () => {
    expect(await audited(200, advisory('fastify'))).toMatchObject({ code: 1, stdout: /critical: fastify, shipped/ })
  })

  it('reports a vulnerability in a development tool, but does not fail for it', async () => {
    const { code, stdout } = await audited(200, advisory('prettier'))
    expect([code, stdout]).toEqual([0, expect.stringContaining('critical: prettier, for development only')])
  })
})

function advisory(name: string): object {
  return {
    [name]: [{ id: 1, url: 'https://example.com/1', title: 'wrong', severity: 'critical', vulnerable_versions: '*' }],
  }
}

/** Runs the audit against a registry that returns this status and these security advisories. */
async function audited(status: number, advisories: object): Promise<{ code: number; stdout: string; stderr: string }> {
  const registry = createServer((request, answer) => {
    request.resume().once('end', () => {
      // The audit also requests each package's versions from the registry.
      const name = decodeURIComponent(request.url?.slice(1) ?? '')
      const { version } = lock.packages[`node_modules/${name}`] ?? {}
      const document =
        request.method === 'GET' ? { name, versions: { [String(version)]: { name, version } } } : advisories
      answer.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(document))
    })
  })
  const port = await listen(registry)
  using cache = emptyFolder()
  const child = spawn(process.execPath, [path.join(repository, 'scripts', 'audit.js')], {
    cwd: repository,
    env: {
      PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH ?? ''}`,
      npm_config_registry: `http://127.0.0.1:${port}`,
      npm_config_cache: cache.path,
      npm_config_fetch_retries: '0',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr, closed] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: Number(closed[0]), stdout, stderr }
}
