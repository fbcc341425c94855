// Bundles src and what it uses into dist: few files start three times as fast as a thousand. Also npm's `prepare`: an install
// without the bundler (production) keeps the dist it came with.
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
  // npm leaves out an optional package, such as the bundler's binary, whose engines exclude the Node that npm itself runs on.
  const [, npmsNode = '20'] = /node\/v(\d+)/.exec(process.env.npm_config_user_agent ?? '') ?? []
  process.stderr.write(
    Number(npmsNode) < 20
      ? `pipespan: npm runs on Node.js ${npmsNode}, for which there is no bundler. Use Node.js 20 or newer.\n`
      : 'pipespan: dist is missing and the bundler is not installed. Run `npm ci` (with development dependencies) once to build it.\n',
  )
  process.exit(1)
}

/**
 * What the packages load only where it is asked for, which nothing here does, stays out: V8 keeps the text of whatever is in a file, on each
 * thread. `pg-native` is an optional part of `pg`; the others compile Fastify's schemas, which no route has, and send requests for its tests.
 */
const neverLoaded = ['pg-native', '@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request']

/**
 * Answers which files went into it. In ASCII: V8 keeps the text of what it runs, on each thread that runs it, with two bytes for
 * each character of a file that has others than Latin ones. Not minified: a stack trace names the functions.
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

/** Every character beyond ASCII stands in a text or a pattern, where its escape is the same. */
function inAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/**
 * What a start needs is in few files, but in none that is very large: to compile one, V8 takes four times its size for a moment, and the allocator
 * keeps that. What calls each other for each pipeline is in one file, because V8 inlines less over their borders: in many files a pipeline takes 7 %
 * more processor time. Each group has what its module imports, but for what is in a group of a higher priority.
 */
const groups = [
  { name: 'yaml', test: /node_modules.yaml./, priority: 8 },
  // Version 3 is only in the file of the MCP endpoint.
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
  // One folder below, as the rooms are in src: what is looked for relative to a module is found from there too.
  chunkFileNames: 'modules/[name]-[hash].js',
  codeSplitting: { groups },
})
const chunks = readdirSync(path.join(dist, 'modules'))
const empty = groups.filter(({ name }) => !chunks.some(chunk => chunk.startsWith(`${name}-`)))
if (empty.length > 0)
  throw new Error(
    `Nothing is in the group ${empty[0]?.name} of the bundle. Write the path of its module anew in scripts/build.js.`,
  )
const packages = packagesOf(files)
const [lock, manifest] = ['package-lock.json', 'package.json'].map(name =>
  JSON.parse(readFileSync(path.join(root, name), 'utf8')),
)
writeFileSync(path.join(dist, 'THIRD-PARTY-LICENCES.txt'), licencesOf(packages))
writeFileSync(path.join(dist, 'sbom.cdx.json'), `${JSON.stringify(sbomOf(packages, lock, manifest), undefined, 2)}\n`)
// What browsers get as it is.
cpSync(path.join(source, 'console', 'layout', 'assets'), path.join(dist, 'modules', 'assets'), { recursive: true })
chmodSync(path.join(dist, 'main.js'), 0o755)
// The command of a clone, as of any installed package: npm does not link the package that it installs others for, and `npx` would install it elsewhere
// at each call.
const bin = path.join(root, 'node_modules', '.bin')
if (existsSync(bin)) {
  rmSync(path.join(bin, 'pipespan'), { force: true })
  symlinkSync('../../dist/main.js', path.join(bin, 'pipespan'))
}
