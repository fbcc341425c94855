// Bundles src and its dependencies into dist, because a program in a few files starts three times as fast as one in a thousand. The script is also
// npm's `prepare`: an installation without the bundler (production) keeps the dist that it contains.
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { licencesOf } from './licences.js'
import { packagesOf } from './bundled-packages.js'
import { sbomOf } from './sbom.js'

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)))
const [source, dist] = [path.join(root, 'src'), path.join(root, 'dist')]
let rolldown
try {
  ;({ rolldown } = await import('rolldown'))
} catch {
  if (existsSync(path.join(dist, 'main.js'))) process.exit(0)
  // npm does not install an optional package, such as the bundler's binary, if its engines exclude the Node.js version that npm itself runs on.
  const [, npmsNode = '20'] = /node\/v(\d+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
  process.stderr.write(
    Number(npmsNode) < 20
      ? `pipespan: npm runs on Node.js ${npmsNode}, which the bundler does not support. Use Node.js 20 or newer.\n`
      : 'pipespan: dist is missing and the bundler is not installed. Run `npm ci` (with development dependencies) once to build it.\n',
  )
  process.exit(1)
}

/**
 * Optional parts of packages that Pipespan never loads. They are left out of the bundle, because V8 keeps the text of every file in memory, on each
 * thread. `pg-native` is an optional part of `pg`. The others compile Fastify's schemas, which no route has, and send requests in Fastify's tests.
 */
const neverLoaded = ['pg-native', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

/**
 * Bundles a file and returns the list of bundled files. The output is ASCII, because V8 keeps the text of running code in memory on each thread, with
 * two bytes per character if a file has non-Latin characters. The output is not minified, so that stack traces contain function names.
 */
async function bundle(file, output) {
  const bundled = await rolldown({
    cwd: root,
    input: path.join(source, file),
    platform: 'node',
    external: neverLoaded,
    resolve: { alias: { '@grpc/grpc-js': path.join(root, 'scripts', 'no-grpc.cjs') } },
    transform: { target: 'node22.19' },
    logLevel: 'warn',
    checks: { ineffectiveDynamicImport: false },
  })
  const written = await bundled.write({
    dir: dist,
    entryFileNames: '[name].js',
    comments: false,
    ...output,
  })
  for (const { fileName, code } of written.output)
    if (code !== undefined) writeFileSync(path.join(dist, fileName), inAscii(code))
  return written.output.flatMap(({ moduleIds = [] }) => moduleIds)
}

/** Escapes every non-ASCII character. All of them are in strings or patterns, where an escape has the same meaning. */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * The code needed at startup is in a few files, none of them very large: to compile a file, V8 briefly needs four times its size, and the allocator
 * keeps that memory. Functions that call each other for each pipeline are in one file, because V8 inlines less across files: split across many files,
 * a pipeline takes 7 % more processor time. Each group contains the imports of its module, except modules in a group of higher priority.
 */
const groups = [
  { name: 'yaml', test: /node_modules.yaml./, priority: 8 },
  // Version 3 of zod is bundled only into the file of the MCP endpoint.
  { name: 'zod', test: /node_modules.zod[\/\\](?!v3)/, priority: 8 },
  { name: 're2js', test: /node_modules.re2js./, priority: 8 },
  { name: 'undici', test: /node_modules.undici./, priority: 8 },
  { name: 'fastify', test: /node_modules.fastify./, priority: 8 },
  { name: 'program', test: /src.commands.(program|serve)\.ts$/, priority: 6 },
  { name: 'daemon', test: /src.daemon.daemon\.ts$/, priority: 1 },
  { name: 'pages', test: /src.daemon.pages\.ts$/, priority: 0 },
]

rmSync(dist, { recursive: true, force: true })
const files = await bundle('main.ts', {
  // The bundled files are in a folder below dist, as the modules are in folders below src, so that paths relative to a module also resolve from the
  // bundle.
  chunkFileNames: 'modules/[name]-[hash].js',
  codeSplitting: { groups },
})
const chunks = readdirSync(path.join(dist, 'modules'))
const empty = groups.filter(({ name }) => !chunks.some(chunk => chunk.startsWith(`${name}-`)))
if (empty.length > 0)
  throw new Error(
    `The group ${empty[0]?.name} of the bundle is empty. Correct the path of its module in scripts/build.js.`,
  )
const packages = packagesOf(files)
const [lock, manifest] = ['package-lock.json', 'package.json'].map(name =>
  JSON.parse(readFileSync(path.join(root, name), 'utf8')),
)
writeFileSync(path.join(dist, 'THIRD-PARTY-LICENCES.txt'), licencesOf(packages))
writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(sbomOf(packages, lock, manifest), undefined, 2)}\n`)
// Copies the console's assets, which are served to browsers unchanged.
cpSync(path.join(source, 'console', 'layout', 'assets'), path.join(dist, 'modules', 'assets'), { recursive: true })
chmodSync(path.join(dist, 'main.js'), 0o755)
// Creates the `pipespan` command for a clone. npm links the commands of installed packages, but not the package's own command, and `npx` would
// install the package elsewhere on each call.
const bin = path.join(root, 'node_modules', '.bin')
if (existsSync(bin)) {
  rmSync(path.join(bin, 'pipespan'), { force: true })
  symlinkSync('../../dist/main.js', path.join(bin, 'pipespan'))
}
