// Installs the package as users and images do, in separate folders, from the dist folder built by `npm ci` or `npm run build`.
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'

export const repository = path.join(import.meta.dirname, '..', '..')

export interface Folder extends Disposable {
  readonly path: string
}

/** Creates an empty folder that every user may enter. */
export function emptyFolder(): Folder {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-release-'))
  chmodSync(folder, 0o755)
  return { path: folder, [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Runs a program with the current Node first in the PATH. If the program fails, throws an error with its output. */
export function run(cwd: string, program: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', env: ours() })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${status}: ${stdout}${stderr}`)
  return stdout
}

function ours(): NodeJS.ProcessEnv {
  return { ...foreign, PATH: `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH ?? ''}` }
}

/** Runs `npm pack` in a copy of the checkout, and returns the path of the packed file in `folder`. */
export function packCopy(folder: string): string {
  needDist()
  // The package is packed from a copy, because packing briefly changes the manifest, which other tests may be reading.
  const clone = subfolder(folder, 'clone')
  const { files } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { files: string[] }
  for (const name of ['package.json', 'scripts', ...files.filter(file => !file.startsWith('!'))])
    cpSync(path.join(repository, name), path.join(clone, name), { recursive: true })
  subfolder(clone, 'node_modules')
  const manifest = readFileSync(path.join(clone, 'package.json'))
  const [packed] = JSON.parse(run(clone, 'npm', 'pack', '--json', '--pack-destination', folder)) as [
    { filename: string },
  ]
  if (!readFileSync(path.join(clone, 'package.json')).equals(manifest))
    throw new Error('npm pack has changed package.json.')
  rmSync(clone, { recursive: true })
  return path.join(folder, packed.filename)
}

/** Packs the package, and installs it into a folder that contains nothing else. Returns npm's warnings. */
export function installPacked(folder: string): string {
  const packed = packCopy(folder)
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }')
  const { status, stderr } = spawnSync('npm', ['install', ...quietly, '--loglevel=warn', packed], {
    ...{ cwd: folder, encoding: 'utf8', env: ours() },
  })
  if (status !== 0) throw new Error(`npm install ended with ${status}: ${stderr}`)
  return stderr
}

/** Copies the files that the Dockerfile copies. No package is installed, because the bundle contains all code that it needs. */
export function copyImage(folder: string): void {
  needDist()
  for (const name of ['package.json', 'dist', 'config', 'LICENSE', 'README.md']) {
    cpSync(path.join(repository, name), path.join(folder, name), { recursive: true })
  }
}

/** The environment without the variables that `npm test` adds for its own package, and without a daemon's settings. */
const foreign = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_(package|lifecycle|command)|PIPESPAN_|OTEL_)/i.test(name)),
)

const quietly = ['--no-audit', '--no-fund', '--prefer-offline', '--loglevel=error']

export function needDist(): void {
  if (!existsSync(path.join(repository, 'dist/main.js'))) throw new Error('dist is missing: run `npm run build` first.')
}

/** Makes the folder read-only for all users. */
export function makeReadOnly(folder: string): void {
  for (const entry of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const file = path.join(folder, entry)
    const stats = lstatSync(file)
    if (!stats.isSymbolicLink()) chmodSync(file, stats.mode & 0o555)
  }
  chmodSync(folder, 0o555)
}

/** Returns the total size of all files in the folder and its subfolders, bytes. */
export function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map(entry => lstatSync(path.join(folder, entry)))
    .reduce((sum, stats) => sum + (stats.isFile() ? stats.size : 0), 0)
}

export function subfolder(folder: string, name: string): string {
  const made = path.join(folder, name)
  mkdirSync(made)
  return made
}
