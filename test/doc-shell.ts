// A shell like that of a reader of the documentation, in a folder where `npx pipespan` runs the program from this checkout.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { compiled, shipped } from './shipped.ts'
import { repository } from './doc-blocks.ts'

export interface DocFolder extends Disposable {
  readonly path: string
  readonly env: NodeJS.ProcessEnv
}

export function docFolder(): DocFolder {
  const folder = mkdtempSync(path.join(tmpdir(), 'pipespan-docs-'))
  const bin = path.join(folder, 'node_modules/.bin')
  mkdirSync(bin, { recursive: true })
  writeFileSync(path.join(folder, 'package.json'), '{ "private": true }')
  const program = `#!/bin/sh\nexec "${process.execPath}" "${shipped}" "$@"\n`
  writeFileSync(path.join(bin, 'pipespan'), program, { mode: 0o755 })
  for (const name of ['docs', 'deploy', 'config']) symlinkSync(path.join(repository, name), path.join(folder, name))
  const foreign = /^(npm_(package|lifecycle|command)|PIPESPAN_|OTEL_|SERVICE_|CI_)/i
  const inherited = Object.entries(process.env).filter(([name]) => !foreign.test(name))
  const PATH = [bin, path.dirname(process.execPath), process.env.PATH].join(path.delimiter)
  return {
    path: folder,
    env: { ...Object.fromEntries(inherited), PATH, NODE_COMPILE_CACHE: compiled, NO_PROXY: 'localhost,127.0.0.1' },
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
