// Compiles src to dist. Also npm's `prepare`: an install without the compiler (production) keeps the dist it came with.
import { chmodSync, cpSync, existsSync, rmSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import path from 'node:path'

const root = path.dirname(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname))
const dist = path.join(root, 'dist')
let compiler
try {
  compiler = path.join(path.dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
} catch {
  if (existsSync(path.join(dist, 'main.js'))) process.exit(0)
  process.stderr.write(
    'pipespan: dist is missing and the compiler is not installed. Run `npm ci` (with development dependencies) once to build it.\n',
  )
  process.exit(1)
}
rmSync(dist, { recursive: true, force: true })
const { status } = spawnSync(process.execPath, [compiler, '-p', path.join(root, 'tsconfig.build.json')], {
  stdio: 'inherit',
})
if (status !== 0) process.exit(status ?? 1)
// What browsers get as it is.
cpSync(path.join(root, 'src', 'pages', 'assets'), path.join(dist, 'pages', 'assets'), { recursive: true })
chmodSync(path.join(dist, 'main.js'), 0o755)
