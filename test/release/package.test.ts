// Tests the package as npm would publish it: it can be installed into an empty folder, and runs there. The test is part of the long form, because npm
// is slow.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isFull } from '../full.ts'
import { emptyFolder, installPacked, repository, run, type Folder } from './install.ts'

const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8')) as { version: string }

describe.runIf(isFull)('the npm package', () => {
  let folder: Folder
  let warnings: string
  beforeAll(() => {
    folder = emptyFolder()
    warnings = installPacked(folder.path)
  }, 180_000)
  afterAll(() => folder[Symbol.dispose](), 180_000)

  it('prints the package version', () => {
    expect(run(folder.path, 'npx', '--no-install', 'pipespan', '--version')).toBe(`${version}\n`)
  })

  it('installs the npm package without warnings about its scripts or engine', () => {
    expect(warnings).not.toMatch(/pipespan|EBADENGINE|install-scripts/)
  })

  it('installs the npm package without any other package', () => {
    expect(readdirSync(path.join(folder.path, 'node_modules')).filter(name => !name.startsWith('.'))).toEqual([
      'pipespan',
    ])
  })

  it('validates the example configuration shipped in the npm package', () => {
    const example = 'node_modules/pipespan/config/pipespan.example.yaml'
    expect(run(folder.path, 'npx', '--no-install', 'pipespan', 'config', 'check', example)).toContain('is valid')
  })

  it('runs the demo of the npm package to its end', () => {
    const output = run(folder.path, 'npx', '--no-install', 'pipespan', 'demo', '--once')
    expect(output).toMatch(/10 pipelines with \d+ jobs drawn/)
  })

  it('ships no sources, tests or secrets in the npm package', () => {
    const files = readdirSync(path.join(folder.path, 'node_modules/pipespan'), { recursive: true, encoding: 'utf8' })
    const own = files.filter(file => !file.startsWith('node_modules'))
    // The only `.env` file contains addresses, which the user replaces.
    expect(own.filter(file => /^(src|test|scripts|\.)/.test(file) || /\.(pem|key|env)$/.test(file))).toEqual([
      'deploy/kubernetes/base/addresses.env',
    ])
    for (const file of ['dist/main.js', 'dist/sbom.cdx.json', 'config/REFERENCE.md', 'LICENSE', 'CHANGELOG.md'])
      expect(own).toContain(file)
  })
})
